import { viewerOf } from '../../../service/sight/sight.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import type { ConfigDocument } from './config-document.ts';
import { type Effective, foldLayers, governanceOf } from './effective-config.ts';
import { type Governance, violationsOf } from './governance.ts';
import { type Layer, layerOf } from './layer.ts';
import { findLayers, findOwnRules } from './layers.sql.ts';

/** The projects at a workspace and above it, from the root down; a project represents its workspace. */
export async function layersAt(context: Context, place: Parameters<typeof findLayers>[2]): Promise<Layer[]> {
  const rows = await context.db.rows(findLayers(context.tenantId, await viewerOf(context), place));
  return rows.map(layerOf);
}

/** The governance of a workspace: the intersection of the limits of all projects at it and above it. */
export async function governanceAt(context: Context, workspaceId: string): Promise<Governance> {
  return ceilingOf(await layersAt(context, { workspaceId })).governance;
}

/** The constraints on a project's documents. */
export interface Ceiling {
  readonly governance: Governance;
  readonly locked: ReadonlySet<string>;
}

/** @param above the ancestors, from the root down */
export function ceilingOf(above: readonly Layer[]): Ceiling {
  const effective: Effective = foldLayers(above);
  return { governance: governanceOf(effective), locked: effective.locked };
}

/** @throws Refusal `governance_weakened` when a revision allows more than the project's ancestors */
export function requireNarrower(
  { governance }: Ceiling,
  own: Governance,
  details: Readonly<Record<string, unknown>> = {},
): void {
  const violations = violationsOf(governance, own);
  if (violations.length > 0) fail('governance_weakened', { ...details, violations });
}

/** @throws Refusal `setting_locked` when a project sets a setting that an ancestor has locked */
export function requireUnlocked(
  { locked }: Ceiling,
  keys: readonly string[],
  details: Readonly<Record<string, unknown>> = {},
): void {
  const lockedSettings = keys.filter((key) => locked.has(key)).sort();
  if (lockedSettings.length > 0) fail('setting_locked', { ...details, lockedSettings });
}

/** The keys that a configuration sets. */
export function settingKeysOf({ settings }: ConfigDocument): string[] {
  return Object.keys(settings ?? {});
}

const batchMax = 500;
const beginning = '00000000-0000-0000-0000-000000000000';

/**
 * Validates every project in a moved subtree against its new ancestors. The move doesn't affect the constraints between
 * the moved projects.
 * @param newParentId null when the workspace becomes a root, which has no ancestors
 * @param check one of the two rules, so that a preview can report both
 * @throws Refusal `governance_weakened`, `setting_locked`, each with `projectId`
 */
export async function requireMovable(
  context: Context,
  workspaceId: string,
  newParentId: string | null,
  check: 'governance' | 'settings',
): Promise<void> {
  if (newParentId === null) return;
  const ceiling = ceilingOf(await layersAt(context, { workspaceId: newParentId }));
  const says = check === 'governance' ? Object.keys(ceiling.governance).length : ceiling.locked.size;
  if (says === 0) return;
  for (let after = beginning; ; ) {
    const rows = await context.db.rows(findOwnRules(context.tenantId, workspaceId, after, batchMax));
    for (const { id: projectId, governance, setting_keys: keys } of rows)
      if (check === 'governance') requireNarrower(ceiling, governance, { projectId });
      else requireUnlocked(ceiling, keys, { projectId });
    const last = rows.at(-1);
    if (last === undefined || rows.length < batchMax) return;
    after = last.id;
  }
}
