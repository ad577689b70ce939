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
  %r0 = phi i64 [ 0, %entry ], [ %v12, %loop0 ]
  %v7 = call i64 @llvm.expect.i64(i64 %r0, i64 0)
  %v8 = add i64 %v6, %v7
  %v9 = getelementptr double, ptr %data1, i64 %v8
  %v10 = load double, ptr %v9, align 8
  %v11 = getelementptr double, ptr %v5, i64 %v7
  store double %v10, ptr %v11, align 8
  %v12 = add nuw nsw i64 %r0, 1
  %v13 = icmp slt i64 %v12, 8
  br i1 %v13, label %loop0, label %done0
done0:
  br label %loop1
loop1:
  %r1 = phi i64 [ 0, %done0 ], [ %v21, %loop1 ]
  %v14 = call i64 @llvm.expect.i64(i64 %r1, i64 0)
  %v15 = add i64 %v6, %v14
  %v16 = sub i64 7, %v14
  %v17 = getelementptr double, ptr %v5, i64 %v16
  %v18 = load double, ptr %v17, align 8
  %v19 = call double @llvm.maximum.f64(double %v18, double 0x3FE0000000000000)
  %v20 = getelementptr double, ptr %data0, i64 %v15
  store double %v19, ptr %v20, align 8
  %v21 = add nuw nsw i64 %r1, 1
  %v22 = icmp slt i64 %v21, 8
  br i1 %v22, label %loop1, label %done1
done1:
  ret void
}

declare i64 @llvm.expect.i64(i64, i64)
declare double @llvm.maximum.f64(double, double)

attributes #0 = { nounwind "prefer-vector-width"="512" }
