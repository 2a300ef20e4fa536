import { randomBytes } from 'node:crypto';
import type { BatonClient, Workspace } from '@baton/sdk';
import { demoRole } from './demo-role.ts';

/** The prefixes of the slugs of demos' workspaces. The console shows its banner for the prefix of a live demo. */
export const slugPrefixes = {
  live: 'baton-demo-',
  backlog: 'baton-proof-',
  organisation: 'baton-company-',
} as const;
export type DemoKind = keyof typeof slugPrefixes;

/** The workspace of one demo. */
export interface DemoWorkspace {
  readonly id: string;
  readonly slug: string;
  /** The suffix of the workspace's slug. It also makes the names of this demo's objects unique. */
  readonly suffix: string;
  /** The role in the workspace that the demo's tasks require, so that they are offered only to its holders. */
  readonly roleId: string;
}

const descriptions: Record<DemoKind, string> = {
  live: 'Four agents add a new checkout to a shop. `baton demo remove` ends it.',
  backlog: 'Agents drain a backlog, and the journal proves the result.',
  organisation: 'A small company, and the effects of one finished task. `baton demo remove` removes it.',
};

const pageMax = 200;

/** The workspaces of demos that haven't been removed yet, of one kind or of all. */
export async function findDemoWorkspaces(
  baton: BatonClient,
  ...kinds: readonly DemoKind[]
): Promise<Workspace[]> {
  const prefixes = (kinds.length > 0 ? kinds : kindsOfDemo).map((kind) => slugPrefixes[kind]);
  const found: Workspace[] = [];
  for await (const workspace of baton.workspaces.list({ rootsOnly: true, status: 'active', limit: pageMax }))
    if (prefixes.some((prefix) => workspace.slug.startsWith(prefix))) found.push(workspace);
  return found;
}

const kindsOfDemo = Object.keys(slugPrefixes) as DemoKind[];

/** Creates the workspace of one demo, with the role that its tasks require. */
export async function createDemoWorkspace(baton: BatonClient, kind: DemoKind): Promise<DemoWorkspace> {
  const suffix = randomBytes(4).toString('hex');
  const { id, slug } = await baton.workspaces.create({
    slug: slugPrefixes[kind] + suffix,
    name: 'Demo',
    description: descriptions[kind],
  });
  const role = await baton.roles.create({
    slug: demoRole,
    name: 'Agent of the demo',
    description: 'Every task of the demo requires it.',
    workspaceId: id,
  });
  return { id, slug, suffix, roleId: role.id };
}
