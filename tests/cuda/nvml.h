/* The part of libnvidia-ml.so.1 that is used. */
#ifndef PPSIM_TESTS_CUDA_NVML_H
#define PPSIM_TESTS_CUDA_NVML_H

struct nvml_gpu;
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *version, unsigned size);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_gpu **gpu);
int nvmlDeviceGetName(struct nvml_gpu *gpu, char *name, unsigned size);
int nvmlDeviceGetClockInfo(struct nvml_gpu *gpu, int which, unsigned *mhz);
int nvmlDeviceGetPowerUsage(struct nvml_gpu *gpu, unsigned *mw);
int nvmlDeviceGetEnforcedPowerLimit(struct nvml_gpu *gpu, unsigned *mw);
int nvmlDeviceGetTemperature(struct nvml_gpu *gpu, int which, unsigned *celsius);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_gpu *gpu, unsigned long long *bits);

#endif
