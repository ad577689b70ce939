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
  %r0 = phi i64 [ 0, %entry ], [ %v9, %loop0 ]
  %v3 = getelementptr float, ptr %data1, i64 %r0
  %v4 = load float, ptr %v3, align 4
  %v5 = getelementptr float, ptr %data2, i64 %r0
  %v6 = load float, ptr %v5, align 4
  %v7 = fadd float %v4, %v6
  %v8 = getelementptr float, ptr %data0, i64 %r0
  store float %v7, ptr %v8, align 4
  %v9 = add nuw nsw i64 %r0, 1
  %v10 = icmp slt i64 %v9, 32
  br i1 %v10, label %loop0, label %done0
done0:
  ret void
}


attributes #0 = { nounwind "prefer-vector-width"="512" }
