typedef __UINT8_TYPE__ uint8;
typedef __UINT32_TYPE__ uint32;
typedef __INT64_TYPE__ int64;
typedef __UINT64_TYPE__ uint64;
typedef float float32;

void add(const int64 *arguments, int64 chunk, int64 worker) {
    float32 *data0 = (float32 *)arguments[0];
    float32 *data1 = (float32 *)arguments[1];
    float32 *data2 = (float32 *)arguments[2];
    for (int64 r0 = 0; r0 < ((int64)32); r0++) {
        const float32 v1 = data1[r0];
        const float32 v2 = data2[r0];
        const float32 v3 = (float32)(v1 + v2);
        data0[r0] = v3;
    }
}
