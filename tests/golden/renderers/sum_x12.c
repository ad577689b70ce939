typedef __UINT8_TYPE__ uint8;
typedef __UINT32_TYPE__ uint32;
typedef __INT64_TYPE__ int64;
typedef __UINT64_TYPE__ uint64;
typedef float float32;

void reduce_add_x12(const int64 *arguments, int64 chunk, int64 worker) {
    float32 accumulator0[12];
    float32 *data1 = (float32 *)arguments[1];
    float32 *data0 = (float32 *)arguments[0];
    for (int i = 0; i < 12; i++) accumulator0[i] = 0x0.0p+0f;
    for (int64 r0 = 0; r0 < ((int64)8); r0++) {
        const int64 v1 = (int64)((uint64)r0 * (uint64)((int64)12));
        float32 v2[12];
        for (int i = 0; i < 12; i++) v2[i] = accumulator0[i];
        float32 v3[12];
        for (int i = 0; i < 12; i++) v3[i] = data1[v1 + i];
        float32 v4[12];
        for (int i = 0; i < 12; i++) v4[i] = (float32)(v2[i] + v3[i]);
        for (int i = 0; i < 12; i++) accumulator0[i] = v4[i];
    }
    float32 v5[12];
    for (int i = 0; i < 12; i++) v5[i] = accumulator0[i];
    float32 v6[12];
    for (int i = 0; i < 12; i++) v6[i] = v5[i];
    for (int i = 0; i < 6; i++) v6[i] = (float32)(v6[i] + v6[i + 6]);
    for (int i = 0; i < 3; i++) v6[i] = (float32)(v6[i] + v6[i + 3]);
    for (int i = 0; i < 1; i++) v6[i] = (float32)(v6[i] + v6[i + 1]);
    v6[0] = (float32)(v6[0] + v6[2]);
    const float32 v7 = v6[0];
    data0[((int64)0)] = v7;
}
