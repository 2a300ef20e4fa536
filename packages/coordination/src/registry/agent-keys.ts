import { z } from 'zod';

/** Reserved, because `GET /agents/me` returns the caller's own agent. */
const taken = 'me';

/** The key of an agent. See docs/reference/agents.md#spec. */
export const AgentKey = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be lower-case letters, digits and -, beginning with a letter or digit')
  .refine((key) => key !== taken, 'must not be me');

export const agentParams = { key: z.string().min(1).max(63) };

/** The key, or `key@revision` for a revision other than the current one. Any other string matches no agent. */
export const AgentRef = z
  .string()
  .min(1)
  .max(80)
  .meta({ description: 'The key, or key@revision for a revision other than the current one.' });

/**
 * @param revision null for the current one
 */
export function parseAgentRef(ref: string): { key: string; revision: number | null } | undefined {
  const [, key, revision] = /^([a-z0-9][a-z0-9-]{0,62})(?:@([1-9]\d{0,8}))?$/.exec(ref) ?? [];
  return key === undefined ? undefined : { key, revision: revision === undefined ? null : Number(revision) };
}
