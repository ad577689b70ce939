define void @staged(ptr %arguments, i64 %chunk, i64 %worker) #0 {
entry:
  %v0 = getelementptr i64, ptr %arguments, i64 1
  %data1 = load ptr, ptr %v0
  %v1 = getelementptr i64, ptr %arguments, i64 0
  %data0 = load ptr, ptr %v1
  %v2 = getelementptr i64, ptr %arguments, i64 2
  %scratch = load ptr, ptr %v2
  %v3 = mul i64 %worker, 64
  %v4 = add i64 %v3, 0
  %v5 = getelementptr i8, ptr %scratch, i64 %v4
  %v6 = mul i64 %chunk, 8
  br label %loop0
loop0:
  %r0 = phi i64 [ 0, %entry ], [ %v11, %loop0 ]
  %v7 = add i64 %v6, %r0
  %v8 = getelementptr double, ptr %data1, i64 %v7
  %v9 = load double, ptr %v8, align 8
  %v10 = getelementptr double, ptr %v5, i64 %r0
  store double %v9, ptr %v10, align 8
  %v11 = add nuw nsw i64 %r0, 1
  %v12 = icmp slt i64 %v11, 8
  br i1 %v12, label %loop0, label %done0
done0:
  br label %loop1
loop1:
  %r1 = phi i64 [ 0, %done0 ], [ %v19, %loop1 ]
  %v13 = add i64 %v6, %r1
  %v14 = sub i64 7, %r1
  %v15 = getelementptr double, ptr %v5, i64 %v14
  %v16 = load double, ptr %v15, align 8
  %v17 = call double @llvm.maximum.f64(double %v16, double 0x3FE0000000000000)
  %v18 = getelementptr double, ptr %data0, i64 %v13
  store double %v17, ptr %v18, align 8
  %v19 = add nuw nsw i64 %r1, 1
  %v20 = icmp slt i64 %v19, 8
  br i1 %v20, label %loop1, label %done1
done1:
  ret void
}

declare double @llvm.maximum.f64(double, double)

attributes #0 = { nounwind "prefer-vector-width"="512" }
