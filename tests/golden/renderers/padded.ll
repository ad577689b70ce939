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
  %r0 = phi i64 [ 0, %entry ], [ %v15, %after1 ]
  %v4 = icmp slt i64 %r0, %v1
  br i1 %v4, label %body0, label %done0
body0:
  %v5 = sub i64 %r0, 2
  %v6 = icmp sle i64 0, %v5
  %v7 = icmp slt i64 %r0, 8
  %v8 = select i1 %v6, i64 %v5, i64 0
  %v9 = getelementptr i8, ptr %data1, i64 %v8
  %v10 = load i8, ptr %v9, align 1
  %v11 = icmp ne i8 %v10, 0
  %v12 = select i1 %v6, i1 %v11, i1 true
  %v13 = zext i1 %v12 to i8
  %v14 = getelementptr i8, ptr %data0, i64 %r0
  br i1 %v7, label %write1, label %after1
write1:
  store i8 %v13, ptr %v14, align 1
  br label %after1
after1:
  %v15 = add nuw nsw i64 %r0, 1
  br label %loop0
done0:
  ret void
}


attributes #0 = { nounwind "prefer-vector-width"="512" }
