typedef __UINT8_TYPE__ uint8;
typedef __UINT32_TYPE__ uint32;
typedef __INT64_TYPE__ int64;
typedef __UINT64_TYPE__ uint64;
typedef float float32;

void add_x16(const int64 *arguments, int64 chunk, int64 worker) {
    float32 *data0 = (float32 *)arguments[0];
    float32 *data1 = (float32 *)arguments[1];
    float32 *data2 = (float32 *)arguments[2];
    for (int64 r0 = 0; r0 < ((int64)2); r0++) {
        const int64 v1 = (int64)((uint64)r0 * (uint64)((int64)16));
        float32 v2[16];
        for (int i = 0; i < 16; i++) v2[i] = data1[v1 + i];
        float32 v3[16];
        for (int i = 0; i < 16; i++) v3[i] = data2[v1 + i];
        float32 v4[16];
        for (int i = 0; i < 16; i++) v4[i] = (float32)(v2[i] + v3[i]);
        for (int i = 0; i < 16; i++) data0[v1 + i] = v4[i];
    }
}
