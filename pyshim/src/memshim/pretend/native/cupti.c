/* CUPTI, which PyTorch's profiler asks for what a GPU does. The real one does not come back from a
   driver that is not there. There is nothing to record: the profiler learns it, and goes on with
   operators and memory. */
#include "pretend.h"

#ifndef PUBLIC_HEADERS

#define SUCCEEDS(name) API CUptiResult name(void) { return CUPTI_SUCCESS; }
SUCCEEDS(cuptiActivityDisable) SUCCEEDS(cuptiActivityEnable) SUCCEEDS(cuptiActivityEnableCudaEventDeviceTimestamps)
SUCCEEDS(cuptiActivityEnableDriverApi)
SUCCEEDS(cuptiActivityEnableRuntimeApi) SUCCEEDS(cuptiActivityFlushAll) SUCCEEDS(cuptiActivityPopExternalCorrelationId)
SUCCEEDS(cuptiActivityPushExternalCorrelationId) SUCCEEDS(cuptiActivityRegisterCallbacks)
SUCCEEDS(cuptiActivityRegisterTimestampCallback)
SUCCEEDS(cuptiActivitySetAttribute) SUCCEEDS(cuptiEnableCallback) SUCCEEDS(cuptiEnableDomain) SUCCEEDS(cuptiFinalize)
SUCCEEDS(cuptiUnsubscribe)

/* Counters of events and metrics, which Kineto of PyTorch 2.6 to 2.8 can ask for. */
#define HAS_NONE(name) API CUptiResult name(void) { return CUPTI_ERROR_NOT_INITIALIZED; }
HAS_NONE(cuptiEventGetAttribute) HAS_NONE(cuptiEventGetIdFromName) HAS_NONE(cuptiEventGroupGetAttribute)
HAS_NONE(cuptiEventGroupReadEvent)
HAS_NONE(cuptiEventGroupSetAttribute) HAS_NONE(cuptiEventGroupSetDisable) HAS_NONE(cuptiEventGroupSetEnable)
HAS_NONE(cuptiEventGroupSetsCreate)
HAS_NONE(cuptiEventGroupSetsDestroy) HAS_NONE(cuptiGetDeviceId) HAS_NONE(cuptiMetricEnumEvents)
HAS_NONE(cuptiMetricGetAttribute)
HAS_NONE(cuptiMetricGetIdFromName) HAS_NONE(cuptiMetricGetNumEvents) HAS_NONE(cuptiMetricGetValue)
HAS_NONE(cuptiSetEventCollectionMode)

/* no more */
API CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer UNUSED, size_t size UNUSED, void **record UNUSED) {
	return CUPTI_ERROR_MAX_LIMIT_REACHED;
}
API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext c UNUSED, uint32_t stream UNUSED, size_t *n) {
	*n = 0;
	return CUPTI_SUCCESS;
}
API CUptiResult cuptiSubscribe(void **subscriber, void *f UNUSED, void *data UNUSED) {
	static char token;
	*subscriber = &token;
	return CUPTI_SUCCESS;
}
API CUptiResult cuptiGetVersion(uint32_t *version) {
	*version = 0;
	return CUPTI_ERROR_NOT_INITIALIZED;
}
API CUptiResult cuptiGetResultString(CUptiResult e UNUSED, const char **text) {
	*text = "there is no CUPTI on a pretend GPU";
	return CUPTI_SUCCESS;
}
API CUptiResult cuptiGetCallbackName(int domain UNUSED, uint32_t id UNUSED, const char **name) {
	*name = "";
	return CUPTI_SUCCESS;
}
#endif
