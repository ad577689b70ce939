define void @padded(ptr %arguments, i64 %chunk, i64 %worker) #0 {
entry:
  %v0 = getelementptr i64, ptr %arguments, i64 2
  %v1 = load i64, ptr %v0
  %v2 = getelementptr i64, ptr %arguments, i64 0
  %data0 = load ptr, ptr %v2
  %v3 = getelementptr i64, ptr %arguments, i64 1
  %data1 = load ptr, ptr %v3
  br label %loop0
loop0:
  %r0 = phi i64 [ 0, %entry ], [ %v16, %after1 ]
  %v4 = call i64 @llvm.expect.i64(i64 %r0, i64 0)
  %v5 = icmp slt i64 %r0, %v1
  br i1 %v5, label %body0, label %done0
body0:
  %v6 = sub i64 %v4, 2
  %v7 = icmp sle i64 0, %v6
  %v8 = icmp slt i64 %v4, 8
  %v9 = select i1 %v7, i64 %v6, i64 0
  %v10 = getelementptr i8, ptr %data1, i64 %v9
  %v11 = load i8, ptr %v10, align 1
  %v12 = icmp ne i8 %v11, 0
  %v13 = select i1 %v7, i1 %v12, i1 true
  %v14 = zext i1 %v13 to i8
  %v15 = getelementptr i8, ptr %data0, i64 %v4
  br i1 %v8, label %write1, label %after1
write1:
  store i8 %v14, ptr %v15, align 1
  br label %after1
after1:
  %v16 = add nuw nsw i64 %r0, 1
  br label %loop0
done0:
  ret void
}

declare i64 @llvm.expect.i64(i64, i64)

attributes #0 = { nounwind "prefer-vector-width"="512" }
