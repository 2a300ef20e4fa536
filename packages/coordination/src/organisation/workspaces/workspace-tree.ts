import { checkLimit, decodeCursor, encodeCursor } from '@baton/kernel/http/paging';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import type { TreeRow, WorkspaceTree, WorkspaceTreeNode } from './tree-node.ts';
import { workspaceLevelsMax } from './workspace.ts';
import { findTree } from './workspace-tree.sql.ts';
import { getWorkspaceRow } from './workspaces.ts';

/** Levels that would make the response too long are omitted. See docs/reference/workspaces.md#tree. */
export const treeNodesMax = 1000;

export interface TreeRequest {
  readonly rootId?: string | undefined;
  readonly depth?: number | undefined;
  readonly includeArchived?: boolean | undefined;
  readonly includeProjects?: boolean | undefined;
  /** Maximum number of roots; `treeNodesMax` if absent. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

const cursorName = 'workspaces:tree';
const beginning = ['', '00000000-0000-0000-0000-000000000000'] as const;

/**
 * The tree, or the subtree of one workspace; siblings are sorted by slug. `depth` 0 returns only the roots.
 * @throws Refusal `not_found`, `invalid_limit`, `invalid_cursor`
 */
export async function getWorkspaceTree(context: Context, request: TreeRequest): Promise<WorkspaceTree> {
  const rootsMax = request.limit === undefined ? treeNodesMax : checkLimit(request.limit);
  const after = request.cursor === undefined ? beginning : placeOf(request.cursor);
  if (request.rootId !== undefined) await getWorkspaceRow(context, request.rootId);
  const found = await context.db.rows(
    findTree(context.tenantId, {
      rootId: request.rootId ?? null,
      depthMax: request.depth ?? workspaceLevelsMax,
      includeArchived: request.includeArchived === true,
      rootsMax,
      nodesMax: treeNodesMax,
      viewerId: await viewerOf(context),
      after,
    }),
  );
  const rows = found.filter(({ root_number: number }) => number <= rootsMax);
  const lastRoot = rows.findLast(({ depth, root_number: number }) => depth === 0 && number === rootsMax);
  const hasMore = rows.length < found.length && lastRoot !== undefined;
  const truncated = rows.length > treeNodesMax;
  const deepest = Math.max(...rows.map(({ depth }) => depth));
  const shown = truncated ? rows.filter(({ depth }) => depth < deepest) : rows;
  return {
    roots: nested(shown, request.includeProjects !== false),
    truncated,
    nextCursor: hasMore ? encodeCursor(cursorName, [lastRoot.slug, lastRoot.id]) : null,
  };
}

/** Rows are ordered by level, so each parent precedes its children. */
function nested(rows: readonly TreeRow[], withProjects: boolean): WorkspaceTreeNode[] {
  const nodes = new Map<string, WorkspaceTreeNode>();
  const roots: WorkspaceTreeNode[] = [];
  for (const row of rows) {
    const node: WorkspaceTreeNode = {
      id: row.id,
      parentId: row.parent_id,
      depth: row.depth,
      slug: row.slug,
      name: row.name,
      status: row.status,
      version: row.version,
      typeId: row.type_id,
      typeKey: row.type_key,
      ...(withProjects && { project: row.project }),
      children: [],
    };
    nodes.set(node.id, node);
    const siblings = row.depth === 0 ? roots : nodes.get(row.parent_id ?? '')?.children;
    siblings?.push(node);
  }
  for (const siblings of [roots, ...[...nodes.values()].map(({ children }) => children)])
    siblings.sort((left, right) => (left.slug < right.slug ? -1 : 1));
  return roots;
}

function placeOf(cursor: string): readonly [string, string] {
  return decodeCursor(cursorName, cursor, ['slug', 'uuid']) as unknown as readonly [string, string];
}
