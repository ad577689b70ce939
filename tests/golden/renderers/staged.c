typedef __UINT8_TYPE__ uint8;
typedef __UINT32_TYPE__ uint32;
typedef __INT64_TYPE__ int64;
typedef __UINT64_TYPE__ uint64;
typedef double float64;

static inline float64 maximum_float64(float64 a, float64 b) {
    if (a == b) return __builtin_signbit(a) ? b : a;
    return b < a ? a : a < b ? b : (float64)(a + b);
}

void staged(const int64 *arguments, int64 chunk, int64 worker) {
    const int64 v0 = chunk;
    float64 *data1 = (float64 *)arguments[1];
    float64 *data0 = (float64 *)arguments[0];
    float64 *scratch0 = (float64 *)(arguments[2] + worker * 64 + 0);
    const int64 v1 = (int64)((uint64)v0 * (uint64)((int64)8));
    for (int64 r2 = 0; r2 < ((int64)8); r2++) {
        const int64 v3 = (int64)((uint64)v1 + (uint64)r2);
        const float64 v4 = data1[v3];
        scratch0[r2] = v4;
    }
    for (int64 r5 = 0; r5 < ((int64)8); r5++) {
        const int64 v6 = (int64)((uint64)v1 + (uint64)r5);
        const int64 v7 = (int64)((uint64)((int64)7) - (uint64)r5);
        const float64 v8 = scratch0[v7];
        const float64 v9 = maximum_float64(v8, 0x1.0000000000000p-1);
        data0[v6] = v9;
    }
}
