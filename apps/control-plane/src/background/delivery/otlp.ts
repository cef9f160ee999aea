import { ProtobufLogsSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { type EvidenceEvent, itemEvent, renderItem } from "@svc/seals";
import type { Clock } from "../../ports/clock.ts";
import type { Receiver } from "./receiver.ts";

export interface OtlpSettings {
  /** With its path, such as `https://collector.internal:4318/v1/logs`. */
  readonly url: URL;
  /** Value of `Authorization`. */
  readonly authorization: string | undefined;
}

type LogRecord = Parameters<typeof ProtobufLogsSerializer.serializeRequest>[0][number];

/** OTLP's severity numbers: INFO, WARN, ERROR. */
const severities = { informational: 9, medium: 13, high: 17 } as const;

/** Attributes and framing of a record, about. */
const framingBytes = 400;

/**
 * OTLP logs over HTTP in protobuf. OpenTelemetry's serializer without its exporter, which counts a batch as exported where
 * the collector's partial success refused some of it.
 */
export function otlpReceiver({ url, authorization }: OtlpSettings, clock: Clock, version: string): Receiver {
  const resource = resourceFromAttributes({ "service.name": "svc-control-plane", "service.version": version });
  const instrumentationScope = { name: "svc.record", version };
  return {
    sink: "otlp",
    url,
    part(item) {
      const body = renderItem("jsonl", item);
      const event = itemEvent(item);
      const record: LogRecord = {
        hrTime: hrTime(Date.parse(event.time)),
        hrTimeObserved: hrTime(clock.nowMs()),
        severityNumber: severities[event.level],
        body,
        eventName: `svc.record.${event.type}`,
        resource,
        instrumentationScope,
        attributes: attributesOf(event),
        droppedAttributesCount: 0,
      };
      return { value: record, bytes: Buffer.byteLength(body) + framingBytes };
    },
    message: (parts) => ({
      body: (ProtobufLogsSerializer.serializeRequest(parts.map(({ value }) => value as LogRecord)) ??
        new Uint8Array()) as Uint8Array<ArrayBuffer>,
      headers: {
        "content-type": "application/x-protobuf",
        ...(authorization !== undefined && { authorization }),
      },
    }),
    refused: (answer) => ProtobufLogsSerializer.deserializeResponse(answer).partialSuccess?.rejectedLogRecords ?? 0,
  };
}

/** By OpenTelemetry's semantic conventions where these have a name, else by those of the spans (docs/reference/telemetry.md#span-attributes). */
function attributesOf({ uid, actor, sessionId, target, targetKind, failure, operation, type }: EvidenceEvent) {
  return {
    "log.record.uid": uid,
    "user.name": actor,
    ...(sessionId && { "session.id": sessionId }),
    ...(target && { "authz.target": target }),
    ...(targetKind && { "authz.target_kind": targetKind }),
    ...(type === "decision" && { "authz.outcome": failure === undefined ? "allow" : "deny" }),
    ...(type === "decision" && failure && { "authz.deny_reason": failure }),
    ...(type === "event" && { "authz.event_kind": operation }),
  };
}

const hrTime = (ms: number): [number, number] =>
  Number.isNaN(ms) ? [0, 0] : [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)];
