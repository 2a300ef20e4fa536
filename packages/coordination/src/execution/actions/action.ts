import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, type JsonObject, queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { CurrencyCode } from '../usage/usage.ts';

export const actionStatuses = ['started', 'completed', 'failed'] as const;

/** Usage of one action; null if it was not reported. */
const ActionUsage = z
  .strictObject({
    inputTokens: z.int().nullable(),
    outputTokens: z.int().nullable(),
    costMicros: z.int().nullable(),
    currency: z.string().nullable(),
  })
  .meta({ id: 'ActionUsage' });

/** A recorded step of a run, stored outside the journal (docs/reference/actions-and-usage.md#actions). */
export const Action = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    runId: Uuid,
    taskId: Uuid,
    principalId: Uuid,
    sessionId: Uuid.nullable(),
    skillId: Uuid.nullable(),
    seq: z.int().positive(),
    action: z.string(),
    status: z.enum(actionStatuses),
    externalReference: z.string().nullable(),
    metadata: FreeObject,
    usage: ActionUsage,
    startedAt: Timestamp,
    finishedAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: 'RunAction' });
export type Action = z.infer<typeof Action>;

/**
 * The maximum cost is one million currency units; the maximum number of tokens is more than a model processes in a
 * year. Sums stay exact.
 */
const costMicrosMax = 1_000_000_000_000;
const tokensMax = 2_147_483_647;

const tokens = z.int().min(0).max(tokensMax).nullish();
export const UsageInput = z
  .strictObject({
    inputTokens: tokens,
    outputTokens: tokens,
    costMicros: z.int().min(0).max(costMicrosMax).nullish(),
    currency: CurrencyCode.nullish(),
  })
  .meta({ id: 'UsageInput' });
export type UsageInput = z.output<typeof UsageInput>;

const externalReference = z.string().max(2000).nullish();
const metadata = z.unknown().default({}).meta({ type: 'object', 'x-maxBytes': documentBytesMax });
/** Accepts any word; the command refuses invalid ones with its own codes. */
const word = z.string().max(queryWordCharactersMax);

export const ActionRequest = z
  .strictObject({
    action: word.meta({ description: '1 to 200 characters.' }),
    status: word.default('completed').meta({ description: 'started, completed or failed.' }),
    skill: z.string().max(250).nullish(),
    externalReference,
    metadata,
    usage: UsageInput.nullish(),
  })
  .meta({ id: 'RunActionRequest' });
export type ActionRequest = z.output<typeof ActionRequest>;

export const ActionResult = z
  .strictObject({
    status: word.meta({ description: 'completed or failed.' }),
    externalReference,
    metadata,
    usage: UsageInput.nullish(),
  })
  .meta({ id: 'RunActionResult' });
export type ActionResult = z.output<typeof ActionResult>;

export type ActionRow = RowOf<Tables['run_actions'], { metadata: JsonObject }>;

export const actionOf = wireMapper<ActionRow>()(Action, {
  usage: ({ input_tokens, output_tokens, cost_micros, currency }) => ({
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    costMicros: cost_micros,
    currency,
  }),
});
