define void @add_x16(ptr %arguments, i64 %chunk, i64 %worker) #0 {
entry:
  %v0 = getelementptr i64, ptr %arguments, i64 0
  %data0 = load ptr, ptr %v0
  %v1 = getelementptr i64, ptr %arguments, i64 1
  %data1 = load ptr, ptr %v1
  %v2 = getelementptr i64, ptr %arguments, i64 2
  %data2 = load ptr, ptr %v2
  br label %loop0
loop0:
  %r0 = phi i64 [ 0, %entry ], [ %v11, %loop0 ]
  %v3 = call i64 @llvm.expect.i64(i64 %r0, i64 0)
  %v4 = mul i64 %v3, 16
  %v5 = getelementptr float, ptr %data1, i64 %v4
  %v6 = load <16 x float>, ptr %v5, align 4
  %v7 = getelementptr float, ptr %data2, i64 %v4
  %v8 = load <16 x float>, ptr %v7, align 4
  %v9 = fadd <16 x float> %v6, %v8
  %v10 = getelementptr float, ptr %data0, i64 %v4
  store <16 x float> %v9, ptr %v10, align 4
  %v11 = add nuw nsw i64 %r0, 1
  %v12 = icmp slt i64 %v11, 2
  br i1 %v12, label %loop0, label %done0
done0:
  ret void
}

declare i64 @llvm.expect.i64(i64, i64)

attributes #0 = { nounwind "prefer-vector-width"="512" }
