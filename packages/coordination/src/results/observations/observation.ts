import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import { TaskRef } from '../../work/tasks/task-ref.ts';

/** Limits in the request schema; each field's own limit is stricter and has the code `observation_invalid`. */
const text = z.string().max(2000);

const Entity = z.strictObject({
  key: text,
  type: text,
  title: text.nullish(),
  properties: z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax }).optional(),
});

const Fact = z.strictObject({
  subject: text,
  predicate: text,
  object: z.union([text, z.number(), z.boolean()]),
  confidence: z.number().nullish(),
});

/** The observation in the format of the memory service: an entity, or a relation between two. */
export const Assertion = z
  .discriminatedUnion('assert', [
    z.strictObject({ assert: z.literal('entity'), entity: Entity }),
    z.strictObject({ assert: z.literal('fact'), fact: Fact }),
  ])
  .meta({ id: 'Assertion' });
export type Assertion = z.infer<typeof Assertion>;

/** An unknown kind is refused with the error code for invalid values, not with a schema error. */
const UnknownAssertion = z
  .looseObject({ assert: text.refine((kind) => kind !== 'entity' && kind !== 'fact') })
  .meta({ 'x-maxBytes': documentBytesMax });
export type SentAssertion = Assertion | z.infer<typeof UnknownAssertion>;

export const ObservedRef = z
  .strictObject({ system: text, id: text, url: z.string().max(4000).nullish() })
  .meta({ description: '`system` has at most 128 characters, `id` 512, `url` 2048.' });

/** A fact for the journal. See docs/reference/memory.md#observations. */
export const NewObservation = z
  .strictObject({
    kind: text.meta({
      description: 'Lower case letters, digits, dots, underscores and hyphens, at most 128.',
    }),
    content: z.string().max(524_288).meta({ description: '1 to 65536 characters.' }),
    data: z
      .unknown()
      .meta({ type: 'object', 'x-maxBytes': documentBytesMax, description: 'At most 100 keys.' })
      .optional(),
    assertions: z
      .array(z.union([Assertion, UnknownAssertion]))
      .max(1000)
      .default([])
      .meta({ description: 'At most 200, of 65536 bytes.' }),
    task: TaskRef.nullish(),
    runId: Uuid.nullish(),
    workspaceId: Uuid.nullish(),
    sessionId: Uuid.nullish().meta({ description: 'A session of the caller.' }),
    source: text.nullish().meta({ description: 'Required with dedupKey and externalRef.' }),
    dedupKey: text.nullish().meta({
      description: 'Recording it again with the same author, source and key writes nothing.',
    }),
    observedAt: z.string().max(100).nullish().meta({ description: 'RFC 3339 with an offset.' }),
    supersedes: Uuid.nullish().meta({ description: 'The event id of an earlier observation.' }),
    externalRef: ObservedRef.nullish(),
  })
  .meta({ id: 'NewObservation' });
export type NewObservation = z.output<typeof NewObservation>;

export const RecordedObservation = z
  .strictObject({
    id: Uuid,
    eventId: Uuid,
    kind: z.string(),
    recordedAt: Timestamp,
    deduplicated: z
      .boolean()
      .meta({ description: 'Whether the observation already existed; then nothing was written.' }),
  })
  .meta({ id: 'RecordedObservation' });
export type RecordedObservation = z.infer<typeof RecordedObservation>;

/** The key for finding an observation: its kind, and the task or the external object that it concerns. */
export interface Observable {
  kind: string;
  source: string | undefined;
  taskId: string | undefined;
  externalRef: { system: string; id: string } | undefined;
  /** The principals whose observations do not count as proof. */
  barred: readonly string[];
}
