import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Actor, ActorOptions, Answer, TestCoordination } from '../coordination.ts';
import { done } from '../leases.ts';

export function makeWorkspace(baton: TestCoordination, more: object = {}) {
  return done(baton.admin.post('/workspaces', { slug: `w${newId()}`, name: 'Platform', ...more }), 201);
}

export function makeWorkspaceType(baton: TestCoordination, more: object = {}) {
  return done(
    baton.admin.post('/workspace-types', { key: `t${newId()}`, displayName: 'Team', ...more }),
    201,
  );
}

export function changeWorkspace(
  baton: TestCoordination,
  id: string,
  version: number,
  body: object,
): Promise<Answer> {
  return baton.admin.patch(`/workspaces/${id}`, body, { 'if-match': `workspace-${version}` });
}

/** A person who sees the workspace `mine` and not `other`. See docs/reference/README.md#visibility. */
export async function makeNarrowPerson(
  baton: TestCoordination,
  permissions?: ActorOptions['permissions'],
): Promise<{ person: Actor; mine: any; other: any }> {
  const person = await baton.actor({ kind: 'human', ...(permissions && { permissions }) });
  const { principalId } = person;
  const [mine, other] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  await done(baton.admin.post(`/workspaces/${mine.id}/members`, { principalId }), 201);
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${principalId}`,
  );
  return { person, mine, other };
}
