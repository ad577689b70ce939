define void @reduce_add_x12(ptr %arguments, i64 %chunk, i64 %worker) #0 {
entry:
  %v0 = getelementptr i64, ptr %arguments, i64 1
  %data1 = load ptr, ptr %v0
  %v1 = getelementptr i64, ptr %arguments, i64 0
  %data0 = load ptr, ptr %v1
  br label %loop0
loop0:
  %r0 = phi i64 [ 0, %entry ], [ %v7, %loop0 ]
  %v2 = phi <12 x float> [ splat (float 0x0000000000000000), %entry ], [ %v6, %loop0 ]
  %v3 = mul i64 %r0, 12
  %v4 = getelementptr float, ptr %data1, i64 %v3
  %v5 = load <12 x float>, ptr %v4, align 4
  %v6 = fadd <12 x float> %v2, %v5
  %v7 = add nuw nsw i64 %r0, 1
  %v8 = icmp slt i64 %v7, 8
  br i1 %v8, label %loop0, label %done0
done0:
  %v9 = shufflevector <12 x float> %v6, <12 x float> poison, <6 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5>
  %v10 = shufflevector <12 x float> %v6, <12 x float> poison, <6 x i32> <i32 6, i32 7, i32 8, i32 9, i32 10, i32 11>
  %v11 = fadd <6 x float> %v9, %v10
  %v12 = shufflevector <6 x float> %v11, <6 x float> poison, <3 x i32> <i32 0, i32 1, i32 2>
  %v13 = shufflevector <6 x float> %v11, <6 x float> poison, <3 x i32> <i32 3, i32 4, i32 5>
  %v14 = fadd <3 x float> %v12, %v13
  %v15 = extractelement <3 x float> %v14, i64 2
  %v16 = extractelement <3 x float> %v14, i64 0
  %v17 = extractelement <3 x float> %v14, i64 1
  %v18 = fadd float %v16, %v17
  %v19 = fadd float %v18, %v15
  %v20 = getelementptr float, ptr %data0, i64 0
  store float %v19, ptr %v20, align 4
  ret void
}


attributes #0 = { nounwind "prefer-vector-width"="512" }
