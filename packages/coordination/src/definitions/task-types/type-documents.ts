import { z } from 'zod';
import { type JsonObject, textsByName } from '@baton/values/wire';
import { checkDocument } from '../../service/documents.ts';
import { parseDocument } from '../acceptance/parsed-document.ts';
import { fail } from '../errors.ts';

/**
 * The documents of a task type except for its fields, its lifecycle and its outputs
 * (docs/reference/definitions.md#execution).
 */

const progressTimeoutSecondsMax = 2_592_000;

const path = z
  .string()
  .max(500)
  .regex(/^\$(\.[A-Za-z_][A-Za-z0-9_-]*|\[\d{1,6}\])+$/, 'must be a path like $.customFields.steps[0]');

const pauseSecondsMax = 604_800;
const attemptsMax = 1000;
const retryReasonsMax = 20;

/** A code of a failed attempt: the text before the first colon of `failureReason`. */
const RetryReason = z.string().regex(/^[a-z][a-z0-9_]{0,99}$/, 'must be a code such as rate_limited');

/** The pauses and the number of attempts after failures. */
const Retry = z.strictObject({
  maxAttempts: z.int().min(1).max(attemptsMax).nullish().meta({
    description:
      'After this many consecutive failed attempts, the task moves to a blocked status. Unlimited by default.',
  }),
  backoffSeconds: z.int().min(0).max(pauseSecondsMax).default(60).meta({
    description: 'The pause after a failed attempt. It doubles with each further consecutive failure.',
  }),
  maxBackoffSeconds: z.int().min(0).max(pauseSecondsMax).default(3600),
  retryOn: z
    .array(RetryReason)
    .min(1)
    .max(retryReasonsMax)
    .nullish()
    .meta({
      description:
        'The codes of failure reasons that are retried; any other one ends the attempts. An expired lease is always ' +
        'retried.',
    }),
});
export type Retry = z.output<typeof Retry>;

/** The default for new versions. Versions published before migration 0098 have no retries, and therefore no pause. */
export const defaultRetry: Retry = Retry.parse({});

/** The execution of tasks of the type: the skill, the maximum time of a run without progress, the retries. */
export const Execution = z.strictObject({
  skill: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[^@\s]([^@]*[^@\s])?$/)
    .nullish(),
  version: z
    .string()
    .min(1)
    .max(50)
    .regex(/^[^@\s]+$/)
    .nullish(),
  inputs: z.union([path, textsByName(z.string().min(1).max(200), path, 100)]).nullish(),
  progressTimeoutSeconds: z
    .int()
    .min(1)
    .max(progressTimeoutSecondsMax)
    .nullish()
    .meta({ description: 'A run without progress for a longer time is reported once by run.stalled.' }),
  retry: Retry.nullish(),
  startDateHolds: z.boolean().nullish().meta({
    description: 'Whether tasks are only available and claimable from `startDate` on; true by default.',
  }),
});
export type Execution = z.infer<typeof Execution>;

/** The stored form, with defaults for omitted members. */
export type StoredExecution = Omit<Execution, 'retry' | 'startDateHolds'> & {
  readonly retry: Retry;
  readonly startDateHolds: boolean;
};

/**
 * Parses the execution document of a type and fills in its defaults. It doesn't check whether its skill can be called.
 * @throws Refusal `invalid_task_execution` with `reason` malformed and the `field`
 */
export function parseExecution(sent: unknown): StoredExecution {
  const parsed = Execution.safeParse(sent ?? {});
  if (!parsed.success) {
    const [fault] = parsed.error.issues;
    return malformed((fault?.path ?? []).map(String), fault?.message);
  }
  const { retry: sentRetry, startDateHolds, ...execution } = parsed.data;
  const { skill, version, inputs, progressTimeoutSeconds } = execution;
  if ((skill == null) !== (version == null) || (skill == null && inputs != null))
    malformed([skill == null ? 'skill' : 'version'], 'is missing');
  return {
    ...(skill != null ? execution : progressTimeoutSeconds != null && { progressTimeoutSeconds }),
    retry: checkRetry(sentRetry ?? defaultRetry),
    startDateHolds: startDateHolds ?? true,
  };
}

function checkRetry({ maxAttempts, backoffSeconds, maxBackoffSeconds, retryOn }: Retry): Retry {
  if (maxBackoffSeconds < backoffSeconds)
    malformed(
      ['retry', 'maxBackoffSeconds'],
      `must be at least backoffSeconds (${backoffSeconds}); got ${maxBackoffSeconds}`,
    );
  return {
    ...(maxAttempts != null && { maxAttempts }),
    backoffSeconds,
    maxBackoffSeconds,
    ...(retryOn != null && { retryOn: [...new Set(retryOn)] }),
  };
}

function malformed(path: readonly string[], message: string | undefined): never {
  return fail('invalid_task_execution', {
    reason: 'malformed',
    field: ['execution', ...path].join('.'),
    message,
  });
}

const anchorForm =
  /^[A-Za-z][A-Za-z0-9_.-]{0,99}:(?:[^\s{}]|\{(?:publicId|workspaceId|projectId|customFields\.[^{}\s]{1,200})\}){1,400}$/;
const name = z.string().min(1).max(100);

/**
 * The context from memory that an executor receives when it claims a task of the type
 * (docs/reference/definitions.md#context-schema).
 */
export const ContextSchema = z.strictObject({
  anchors: z
    .array(
      z
        .string()
        .max(500)
        .refine(
          (anchor) => anchorForm.test(anchor),
          'must be type:key, where the key may contain {publicId}, {workspaceId}, {projectId} or {customFields.<key>}',
        ),
    )
    .max(10)
    .optional(),
  kinds: z.array(name).max(20).optional(),
  relations: z.array(name).max(10).optional(),
  depth: z.int().min(1).max(3).optional(),
  maxTokens: z.int().min(1).max(32_000).optional(),
  strategy: name.optional(),
  asOf: z.enum(['claim', 'now']).optional(),
});

/** @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `invalid_context_schema` with `path` */
export function parseContextSchema(sent: unknown): JsonObject {
  checkDocument(sent, { field: 'contextSchema' });
  const { success, error } = ContextSchema.safeParse(sent);
  if (success) return sent;
  const [fault] = error.issues;
  const names =
    fault?.code === 'unrecognized_keys' ? [...fault.path, ...fault.keys.slice(0, 1)] : fault?.path;
  const at = (names ?? []).map((key) => `/${String(key)}`).join('');
  return fail('invalid_context_schema', { path: at.slice(0, 200).toWellFormed(), message: fault?.message });
}

const artifactKey = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,55}$/);
const artifactType = z.string().min(1).max(63);

/** The artifacts that tasks of a type take as inputs and produce. */
export const ArtifactSchema = z.strictObject({
  inputs: z
    .array(
      z.strictObject({
        key: artifactKey,
        type: artifactType,
        from: z.enum(['depends_on', 'spawned_by', 'parent']),
        required: z.boolean().optional(),
      }),
    )
    .max(32)
    .optional(),
  outputs: z
    .array(
      z.strictObject({
        key: artifactKey,
        type: artifactType,
        required: z.boolean().optional(),
        mediaTypes: z.array(z.string().min(1).max(255)).min(1).max(50).optional(),
        content: z.enum(['required', 'optional']).optional(),
      }),
    )
    .max(32)
    .optional(),
});
export type ArtifactSchema = z.infer<typeof ArtifactSchema>;

/**
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `invalid_artifact_schema` with `field`
 */
export function parseArtifactSchema(sent: unknown): ArtifactSchema {
  const field = 'artifactSchema';
  checkDocument(sent, { field });
  const parsed = parseDocument(ArtifactSchema, sent, field, 'invalid_artifact_schema');
  for (const list of ['inputs', 'outputs'] as const) {
    const keys = (parsed[list] ?? []).map(({ key }) => key);
    const repeated = keys.findIndex((key, index) => keys.indexOf(key) !== index);
    if (repeated >= 0)
      fail('invalid_artifact_schema', {
        field: `${field}.${list}.${repeated}.key`,
        message: 'is a duplicate',
      });
  }
  return parsed;
}
