define void @reduce_add(ptr %arguments, i64 %chunk, i64 %worker) #0 {
entry:
  %v0 = getelementptr i64, ptr %arguments, i64 1
  %data1 = load ptr, ptr %v0
  %v1 = getelementptr i64, ptr %arguments, i64 0
  %data0 = load ptr, ptr %v1
  br label %loop0
loop0:
  %r0 = phi i64 [ 0, %entry ], [ %v6, %loop0 ]
  %v2 = phi float [ 0x0000000000000000, %entry ], [ %v5, %loop0 ]
  %v3 = getelementptr float, ptr %data1, i64 %r0
  %v4 = load float, ptr %v3, align 4
  %v5 = fadd float %v2, %v4
  %v6 = add nuw nsw i64 %r0, 1
  %v7 = icmp slt i64 %v6, 96
  br i1 %v7, label %loop0, label %done0
done0:
  %v8 = getelementptr float, ptr %data0, i64 0
  store float %v5, ptr %v8, align 4
  ret void
}


attributes #0 = { nounwind "prefer-vector-width"="512" }
