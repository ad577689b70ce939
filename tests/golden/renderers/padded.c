typedef _Bool bool_;
typedef __INT8_TYPE__ int8;
typedef __UINT8_TYPE__ uint8;
typedef __UINT32_TYPE__ uint32;
typedef __INT64_TYPE__ int64;
typedef __UINT64_TYPE__ uint64;

void padded(const int64 *arguments, int64 chunk, int64 worker) {
    const int64 v0 = arguments[2];
    int8 *data0 = (int8 *)arguments[0];
    uint8 *data1 = (uint8 *)arguments[1];
    for (int64 r1 = 0; r1 < v0; r1++) {
        const int64 v2 = (int64)((uint64)r1 - (uint64)((int64)2));
        const bool_ v3 = ((int64)0) <= v2;
        const bool_ v4 = r1 < ((int64)8);
        const bool_ v5 = v3 ? (data1[v2] != 0) : ((bool_)1);
        const int8 v6 = (int8)v5;
        if (v4) data0[r1] = v6;
    }
}
