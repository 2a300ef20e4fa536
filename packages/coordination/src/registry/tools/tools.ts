import { createHash } from 'node:crypto';
import { listPage } from '@baton/kernel/database/list';
import { namesTag } from '@baton/kernel/http/etag';
import type { Page } from '@baton/kernel/http/paging';
import { type Reply, reply } from '@baton/kernel/http/service';
import { canonicalJson } from '@baton/values/canonical-json';
import type { Json } from '@baton/values/wire';
import { ceilingOf, layersAt } from '../../organisation/projects/config/layers.ts';
import { requireSightOfTask } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  descriptionCharactersMax,
  inputSchemaBytesMax,
  type ToolDetail,
  type ToolDetailRow,
  type ToolPage,
  toolOf,
  truncate,
} from './tool.ts';
import { publicSchema } from './tool-schema.ts';
import { findTool, findToolPolicy, findTools, type ToolFilter, type ToolPolicyRow } from './tools.sql.ts';

const queryCharactersMax = 200;
const queryTermsMax = 8;

/**
 * A page of the caller's tools, newest first. If a run of the caller is given, the page contains only tools that the
 * projects above the run's task and the grant of its handle allow. If the caller already has the current view,
 * returns 304 without reading the tools. See docs/reference/agents.md#tools.
 * @throws Refusal `invalid_tool_query`, `invalid_cursor`, `not_found`
 */
export async function listTools(
  context: Context,
  { query = '', runId }: { query?: string | undefined; runId?: string | undefined },
  page: Page,
): Promise<Reply<ToolPage | undefined>> {
  const terms = termsIn(query);
  const { filter, harnessProtocols, catalogRevision, policyRevision } = await toolPolicy(context, runId, () =>
    findTools(filterOf(context), terms, page),
  );
  const { limit, cursor = null } = page;
  const viewHash = hashOf([catalogRevision, policyRevision, query, limit, cursor]);
  const headers = { etag: `"${viewHash}"` };
  if (namesTag(context.ifNoneMatch, headers.etag)) return reply(304, undefined, headers);
  const { items, nextCursor } = await listPage(context.db, findTools(filter, terms, page), (row) =>
    toolOf(row, harnessProtocols),
  );
  const view = {
    catalogRevision,
    policyRevision,
    viewHash,
    mode: terms.length > 0 ? ('search' as const) : ('eager' as const),
    returned: items.length,
    hasMore: nextCursor !== null,
  };
  return reply(200, { items, nextCursor, view }, headers);
}

/** The words of a search, ignoring case. @throws Refusal `invalid_tool_query` */
export function termsIn(query: string): string[] {
  const terms = query.split(' ').filter((word) => word !== '');
  if (Array.from(query).length > queryCharactersMax || terms.length > queryTermsMax)
    fail('invalid_tool_query', { maxLength: queryCharactersMax, maxTerms: queryTermsMax });
  return terms;
}

/**
 * A tool with the schema of its inputs. A missing tool and one that the caller may not use are indistinguishable.
 * @param ref an id, a name, or `name@version`
 * @throws Refusal `not_found` for a run of another principal, `tool_not_found`, `invalid_tool_schema`
 */
export async function getTool(context: Context, ref: string, runId: string | undefined): Promise<ToolDetail> {
  const { filter, harnessProtocols } = await toolPolicy(context, runId);
  const row = await context.db.row(findTool(filter, partsOf(ref)));
  if (row === undefined) return fail('tool_not_found', { tool: ref });
  const { schema, redactions } = readableSchema(row);
  return {
    ...toolOf(row, harnessProtocols),
    description: truncate(row.description, descriptionCharactersMax),
    inputSchema: schema,
    schemaRedactions: redactions,
  };
}

const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function partsOf(ref: string): Parameters<typeof findTool>[1] {
  if (idForm.test(ref)) return { id: ref, name: null, version: null };
  const at = ref.indexOf('@');
  if (at < 0) return { id: null, name: ref, version: null };
  return { id: null, name: ref.slice(0, at), version: ref.slice(at + 1) };
}

function readableSchema({ id, input_schema: schema }: ToolDetailRow) {
  if (schema === null) return { schema: null, redactions: [] };
  const actualBytes = Buffer.byteLength(JSON.stringify(schema));
  if (actualBytes > inputSchemaBytesMax)
    fail('invalid_tool_schema', { tool: id, maxBytes: inputSchemaBytesMax, actualBytes });
  return publicSchema(schema);
}

interface ToolPolicy {
  readonly filter: ToolFilter;
  readonly harnessProtocols: readonly string[];
  readonly catalogRevision: string;
  readonly policyRevision: string;
}

const filterOf = ({ tenantId, caller: { principalId } }: Context): ToolFilter => ({
  tenantId,
  principalId,
  protocols: null,
  granted: null,
});

/**
 * The skills that are currently the caller's tools, with the revisions of all inputs.
 * @param checkFirst validates the request before the run is looked up
 * @throws Refusal `not_found` for a run that is not the caller's
 */
async function toolPolicy(
  context: Context,
  runId: string | undefined,
  checkFirst?: () => unknown,
): Promise<ToolPolicy> {
  checkFirst?.();
  const { db, tenantId, caller } = context;
  const found = (await db.row(findToolPolicy(tenantId, caller.principalId, runId ?? null))) as ToolPolicyRow;
  const { project, protocols } = runId === undefined ? anyProject : await ruledBy(context, runId, found);
  const { granted, harness_protocols: harnessProtocols } = found;
  return {
    filter: { ...filterOf(context), protocols, granted },
    harnessProtocols,
    catalogRevision: `sha256:${found.catalog_hash}`,
    policyRevision: hashOf([
      caller.principalId,
      found.assigned_hash,
      protocols,
      project,
      harnessProtocols,
      granted,
    ]),
  };
}

const anyProject = { project: null, protocols: null };

/** The nearest project above the task of a run, and the protocols that this project and its ancestors allow. */
async function ruledBy(
  context: Context,
  runId: string,
  { task_id: taskId, workspace_id: workspaceId }: ToolPolicyRow,
): Promise<{ project: string | null; protocols: string[] | null }> {
  if (taskId === null) return fail('not_found', { runId });
  await requireSightOfTask(context, taskId, { runId });
  if (workspaceId === null) return anyProject;
  const layers = await layersAt(context, { workspaceId });
  const { allowedSkillProtocols: protocols = null } = ceilingOf(layers).governance;
  const nearest = layers.at(-1);
  return {
    project: nearest === undefined ? null : `${nearest.projectId}@${nearest.revisionNumber ?? 0}`,
    protocols: protocols as string[] | null,
  };
}

function hashOf(parts: Json): string {
  return `sha256:${createHash('sha256').update(canonicalJson(parts)).digest('hex')}`;
}
