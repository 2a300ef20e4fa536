import { newId } from '@baton/values/ids';
import type { Answer, TestCoordination } from '../coordination.ts';
import { done } from '../leases.ts';

export function makeTemplate(baton: TestCoordination, more: object = {}) {
  return done(
    baton.admin.post('/project-templates', { key: `t${newId()}`, displayName: 'Launch', ...more }),
    201,
  );
}

/** Creates a project, with a new workspace and template unless they are given. */
export async function makeProject(baton: TestCoordination, more: Record<string, unknown> = {}) {
  const isPlaced = 'workspaceId' in more;
  const isNamed = 'templateId' in more || 'templateKey' in more;
  const body = {
    ...(!isPlaced && { workspaceSlug: `p${newId()}` }),
    ...(!isNamed && { templateId: (await makeTemplate(baton)).id }),
    ...more,
  };
  return done(baton.admin.post('/projects', body), 201);
}

/** Creates a project below another one, in a new workspace. */
export function makeSubproject(baton: TestCoordination, parent: { workspaceId: string }, more: object = {}) {
  return makeProject(baton, { parentWorkspaceId: parent.workspaceId, ...more });
}

export function changeProject(
  baton: TestCoordination,
  { id, version }: { id: string; version: number },
  body: object,
): Promise<Answer> {
  return baton.admin.patch(`/projects/${id}`, body, { 'if-match': `project-${version}` });
}

/** Records a configuration and activates it. @returns the project */
export async function configure(baton: TestCoordination, id: string, config: object) {
  const { revision } = await done(baton.admin.post(`/projects/${id}/config-revisions`, { config }), 201);
  const { version } = await done(baton.admin.get(`/projects/${id}`));
  const path = `/projects/${id}/config-revisions/${revision}:activate`;
  return done(baton.admin.post(path, undefined, { 'if-match': `project-${version}` }));
}
