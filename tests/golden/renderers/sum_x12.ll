define void @reduce_add_x12(ptr %arguments, i64 %chunk, i64 %worker) #0 {
entry:
  %v0 = getelementptr i64, ptr %arguments, i64 1
  %data1 = load ptr, ptr %v0
  %v1 = getelementptr i64, ptr %arguments, i64 0
  %data0 = load ptr, ptr %v1
  br label %loop0
loop0:
  %r0 = phi i64 [ 0, %entry ], [ %v8, %loop0 ]
  %v2 = phi <12 x float> [ splat (float 0x0000000000000000), %entry ], [ %v7, %loop0 ]
  %v3 = call i64 @llvm.expect.i64(i64 %r0, i64 0)
  %v4 = mul i64 %v3, 12
  %v5 = getelementptr float, ptr %data1, i64 %v4
  %v6 = load <12 x float>, ptr %v5, align 4
  %v7 = fadd <12 x float> %v2, %v6
  %v8 = add nuw nsw i64 %r0, 1
  %v9 = icmp slt i64 %v8, 8
  br i1 %v9, label %loop0, label %done0
done0:
  %v10 = shufflevector <12 x float> %v7, <12 x float> poison, <6 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5>
  %v11 = shufflevector <12 x float> %v7, <12 x float> poison, <6 x i32> <i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v12 = fadd <6 x float> %v10, %v11
  %v13 = shufflevector <6 x float> %v12, <6 x float> poison, <3 x i32> <i32 0, i32 1, i32 2>
  %v14 = shufflevector <6 x float> %v12, <6 x float> poison, <3 x i32> <i32 3, i32 4, i32 5>
  %v15 = fadd <3 x float> %v13, %v14
  %v16 = extractelement <3 x float> %v15, i64 2
  %v17 = extractelement <3 x float> %v15, i64 0
  %v18 = extractelement <3 x float> %v15, i64 1
  %v19 = fadd float %v17, %v18
  %v20 = fadd float %v19, %v16
  %v21 = getelementptr float, ptr %data0, i64 0
  store float %v20, ptr %v21, align 4
  ret void
}

declare i64 @llvm.expect.i64(i64, i64)

attributes #0 = { nounwind "prefer-vector-width"="512" }
