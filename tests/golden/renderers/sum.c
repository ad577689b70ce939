typedef __UINT8_TYPE__ uint8;
typedef __UINT32_TYPE__ uint32;
typedef __INT64_TYPE__ int64;
typedef __UINT64_TYPE__ uint64;
typedef float float32;

void reduce_add(const int64 *arguments, int64 chunk, int64 worker) {
    float32 accumulator0;
    float32 *data1 = (float32 *)arguments[1];
    float32 *data0 = (float32 *)arguments[0];
    accumulator0 = 0x0.0p+0f;
    for (int64 r0 = 0; r0 < ((int64)96); r0++) {
        const float32 v1 = accumulator0;
        const float32 v2 = data1[r0];
        const float32 v3 = (float32)(v1 + v2);
        accumulator0 = v3;
    }
    const float32 v4 = accumulator0;
    data0[((int64)0)] = v4;
}
