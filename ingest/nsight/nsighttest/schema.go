package nsighttest

import "maps"

// schema is the tables of an age with the columns that matter, as
// CREATE TABLE has them. Every column has a type behind its name.
func schema(a Age) map[string]string {
	switch a {
	case Of2021:
		return of2021
	case Of2026:
		return of2026
	}
	return of2024
}

const (
	kernelHead = " start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
	kernelTail = " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL," +
		" gridX INTEGER NOT NULL, blockX INTEGER NOT NULL"
	nvtx = " start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT," +
		" globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER"
)

var of2021 = map[string]string{
	"StringIds":                  " id INTEGER PRIMARY KEY, value TEXT NOT NULL",
	"CUPTI_ACTIVITY_KIND_KERNEL": kernelHead + kernelTail,
	"NVTX_EVENTS":                nvtx,
}

var of2024 = map[string]string{
	"StringIds":                       " id INTEGER PRIMARY KEY, value TEXT NOT NULL",
	"PROCESSES":                       " globalPid INTEGER, pid INTEGER, name TEXT",
	"TARGET_INFO_SESSION_START_TIME":  " utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
	"TARGET_INFO_CUDA_DEVICE":         " gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER",
	"TARGET_INFO_SYSTEM_ENV":          " globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL",
	"DIAGNOSTIC_EVENT":                " timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER",
	"META_DATA_EXPORT":                " name TEXT NOT NULL, value TEXT",
	"CUPTI_ACTIVITY_KIND_KERNEL":      kernelHead + " greenContextId INTEGER," + kernelTail + ", graphNodeId INTEGER",
	"CUPTI_ACTIVITY_KIND_MEMCPY":      kernelHead + " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER",
	"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": kernelHead + " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER",
	"CUPTI_ACTIVITY_KIND_RUNTIME": " start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER," +
		" nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
	"NVTX_EVENTS":          nvtx + ", jsonTextId INTEGER, jsonText TEXT, binaryData TEXT",
	"NVTX_PAYLOAD_SCHEMAS": " domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags INTEGER, numEntries INTEGER, payloadSize INTEGER, alignTo INTEGER",
	"NVTX_PAYLOAD_SCHEMA_ENTRIES": " domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER NOT NULL, flags INTEGER, type INTEGER, name TEXT," +
		" description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER",
	"NVTX_PAYLOAD_ENUMS": " domainId INTEGER, schemaId INTEGER, name TEXT, numEntries INTEGER, size INTEGER",
}

var of2026 = func() map[string]string {
	m := maps.Clone(of2024)
	m["NVTX_EVENTS"] += ", eventId INTEGER NOT NULL PRIMARY KEY"
	m["NVTX_EVENTS_PAYLOAD_SCHEMAS"] = " eventId INTEGER NOT NULL, globalPid INTEGER NOT NULL, domainId INTEGER NOT NULL, payloadSchemaID INTEGER NOT NULL"
	m["NVTX_EXPORT_TRANSLATION"] = " originalName TEXT NOT NULL, sanitizedName TEXT NOT NULL"
	m["TARGET_INFO_SESSION_START_TIME"] += ", systemClockNs INTEGER, sessionStartCntVctNs INTEGER"
	return m
}()
