import type { Actor, Answer } from '../coordination.ts';

/**
 * Changes somebody's access if it is still as the caller sees it now. Without the right to read it, no version matches.
 */
export async function setAccess(by: Actor, principalId: string, body: object): Promise<Answer> {
  const { body: access } = await by.get(`/principals/${principalId}/access`);
  return by.put(`/principals/${principalId}/access`, body, {
    'if-match': `"principal_access-${access.version ?? 0}"`,
  });
}
