import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../../service/schema.ts';

/** The metadata of an agent's secret, never its value. See docs/reference/agents.md#secrets. */
export const AgentSecret = z
  .strictObject({ name: z.string(), updatedAt: Timestamp, updatedBy: Uuid })
  .meta({ id: 'AgentSecret' });
export type AgentSecret = z.infer<typeof AgentSecret>;

/** The endpoint validates the form and length of names (`invalid_secret_name`); the router rejects even longer ones. */
export const SecretParam = z.string().min(1).max(1000);

export const AgentSecretRequest = z
  .strictObject({ value: z.string().min(1).max(65_536) })
  .meta({ id: 'AgentSecretRequest' });
export type AgentSecretRequest = z.infer<typeof AgentSecretRequest>;

export type AgentSecretRow = RowOf<Tables['agent_secrets']>;

export const agentSecretOf = wireMapper<AgentSecretRow>()(AgentSecret, {});
