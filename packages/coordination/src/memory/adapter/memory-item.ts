import type { Json, JsonObject } from '@baton/values/wire';
import type { EventRow } from '../../ledger/journal/event.ts';
import type { MemoryItem, MemoryRef } from '../gateway/memory.ts';
import { mappingVersion, neverTold, type ToldEvent, whitelist } from './whitelist.ts';

const scopesMax = 20;

/** Payload fields that refer to further subjects of an event. See docs/reference/memory.md#context-adapter. */
const scopeTypes: readonly (readonly [field: string, type: string])[] = [
  ['taskId', 'task'],
  ['runId', 'run'],
  ['workspaceId', 'workspace'],
  ['parentProjectId', 'project'],
  ['fromTaskId', 'task'],
  ['toTaskId', 'task'],
  ['principalId', 'principal'],
  ['artifactId', 'artifact'],
  ['goalId', 'goal'],
  ['parentGoalId', 'goal'],
];

/** The item for an event; undefined for an event that is not on the whitelist. Never throws. */
export function memoryItemOf(event: EventRow): MemoryItem | undefined {
  const entry = Object.hasOwn(whitelist, event.type) ? whitelist[event.type] : undefined;
  if (entry === undefined) return undefined;
  const payload = event.payload as JsonObject;
  const isObservation = event.type === 'observation.recorded';
  const { kind, observedAt, assertions } = payload;
  return {
    source: { system: 'control-plane', stream: 'domain-events', external_id: `event:${event.id}` },
    kind: isObservation && typeof kind === 'string' ? kind : event.type,
    occurred_at: isObservation && typeof observedAt === 'string' ? observedAt : event.occurred_at,
    subject: { type: event.entity_type, id: event.entity_id },
    scopes: scopesOf(event, payload),
    content: contentOf(entry, payload),
    data: {
      ...fieldsOf(entry, payload),
      mappingVersion,
      eventSequence: event.sequence,
      traceRunId: event.trace_run_id,
    },
    provenance: { uri: `control-plane://events/${event.id}` },
    ...(event.actor_id !== null && { actor: { type: 'principal', id: event.actor_id } }),
    ...(isObservation && assertions !== undefined && { assertions }),
  };
}

function scopesOf(event: EventRow, payload: JsonObject): MemoryRef[] {
  const named: (readonly [type: string, id: Json | undefined])[] = [
    [event.entity_type, event.entity_id],
    ...scopeTypes.map(([field, type]) => [type, payload[field]] as const),
    ['workspace', event.workspace_id],
    ['principal', event.actor_id],
  ];
  const scopes = new Map<string, MemoryRef>();
  for (const [type, id] of named)
    if (typeof id === 'string' && scopes.size < scopesMax) scopes.set(`${type}:${id}`, { type, id });
  return [...scopes.values()];
}

function fieldsOf({ fields }: ToldEvent, payload: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const one of fields) {
    const [as, field] = typeof one === 'string' ? [one, one] : one;
    const value = payload[field];
    if (value !== undefined) result[as] = field === 'data' ? value : tellable(value);
  }
  return result;
}

/** Removes fields that are never sent, except from `data`, which the tenant itself published. */
function tellable(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !neverTold.includes(name)));
}

function contentOf({ content }: ToldEvent, payload: JsonObject): string {
  return content.replaceAll(/\{(\w+)\}/g, (_, field: string) => worded(payload[field]));
}

/** A value as words in a sentence: an object is represented by the names of its fields. */
function worded(value: Json | undefined): string {
  if (value === undefined || value === null) return 'unknown';
  if (typeof value !== 'object') return String(value);
  const names = Array.isArray(value) ? value.map(String) : Object.keys(tellable(value) as JsonObject);
  return names.length === 0 ? 'undisclosed fields' : names.join(', ');
}
