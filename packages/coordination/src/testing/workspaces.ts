import { newId } from '@baton/kernel/ids';
import type { Answer, TestCoordination } from './coordination.ts';
import { done } from './leases.ts';

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
