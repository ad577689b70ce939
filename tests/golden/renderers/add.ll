define void @add(ptr %arguments, i64 %chunk, i64 %worker) #0 {
entry:
  %v0 = getelementptr i64, ptr %arguments, i64 0
  %data0 = load ptr, ptr %v0
  %v1 = getelementptr i64, ptr %arguments, i64 1
  %data1 = load ptr, ptr %v1
  %v2 = getelementptr i64, ptr %arguments, i64 2
  %data2 = load ptr, ptr %v2
  br label %loop0
loop0:
  %r0 = phi i64 [ 0, %entry ], [ %v10, %loop0 ]
  %v3 = call i64 @llvm.expect.i64(i64 %r0, i64 0)
  %v4 = getelementptr float, ptr %data1, i64 %v3
  %v5 = load float, ptr %v4, align 4
  %v6 = getelementptr float, ptr %data2, i64 %v3
  %v7 = load float, ptr %v6, align 4
  %v8 = fadd float %v5, %v7
  %v9 = getelementptr float, ptr %data0, i64 %v3
  store float %v8, ptr %v9, align 4
  %v10 = add nuw nsw i64 %r0, 1
  %v11 = icmp slt i64 %v10, 32
  br i1 %v11, label %loop0, label %done0
done0:
  ret void
}

declare i64 @llvm.expect.i64(i64, i64)

attributes #0 = { nounwind "prefer-vector-width"="512" }
