import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Statement } from '@baton/kernel/database/sql';
import { checkLimit, type Page } from '@baton/kernel/http/paging';
import { getPrincipalRow } from '../../access/principals/principals.ts';
import { holds } from '../../service/permissions.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { WholeListQuery } from '../../service/whole-list.ts';
import type { Context } from '../context.ts';
import {
  type CapabilityAssignment,
  capabilityAssignmentOf,
  type RoleAssignment,
  roleAssignmentOf,
  type SkillAssignment,
  skillAssignmentOf,
} from './assignment.ts';
import {
  findCapabilitiesById,
  findCapabilityAssignments,
  findRolesById,
  findSkillAssignments,
  findSkillsById,
  listOfRoleAssignments,
} from './assignments.sql.ts';

/** Even without a requested limit, a list that exceeds this size has a cursor. */
const wholeRowsMax = 1000;

/**
 * Omits assignments in workspaces that the caller may not see. See docs/reference/README.md#visibility.
 * @throws Refusal `not_found`, `invalid_limit`, `invalid_cursor`
 */
export async function listRoleAssignments(
  context: Context,
  principalId: string,
  query: WholeListQuery,
): Promise<ItemPage<RoleAssignment>> {
  const viewerId = await viewerOf(context);
  const list = listOfRoleAssignments(context.tenantId, principalId);
  return listAssignments(context, principalId, query, {
    read: (page) => listSeen(context.db, viewerId, list, page, (row) => row),
    subjectOf: ({ role_id }) => role_id,
    findSubjects: (ids) => findRolesById(context.tenantId, ids),
    itemOf: roleAssignmentOf,
  });
}

/** @throws Refusal `not_found`, `invalid_limit`, `invalid_cursor` */
export function listCapabilityAssignments(
  context: Context,
  principalId: string,
  query: WholeListQuery,
): Promise<ItemPage<CapabilityAssignment>> {
  const { db, tenantId } = context;
  return listAssignments(context, principalId, query, {
    read: (page) => listPage(db, findCapabilityAssignments(tenantId, principalId, page), (row) => row),
    subjectOf: ({ capability_id }) => capability_id,
    findSubjects: (ids) => findCapabilitiesById(tenantId, ids),
    itemOf: capabilityAssignmentOf,
  });
}

/**
 * Readers without org.read don't see the config of the skills.
 * @throws Refusal `not_found`, `invalid_limit`, `invalid_cursor`
 */
export function listSkillAssignments(
  context: Context,
  principalId: string,
  query: WholeListQuery,
): Promise<ItemPage<SkillAssignment>> {
  const { db, tenantId } = context;
  const showsConfig = holds(context.caller.permissions, 'org.read');
  return listAssignments(context, principalId, query, {
    read: (page) => listPage(db, findSkillAssignments(tenantId, principalId, page), (row) => row),
    subjectOf: ({ skill_id }) => skill_id,
    findSubjects: (ids) => findSkillsById(tenantId, ids),
    itemOf: (row, skill) => skillAssignmentOf(row, skill, showsConfig),
  });
}

interface AssignmentKind<Row, Subject, Item> {
  read(page: Page): Promise<ItemPage<Row>>;
  /** The id of the assigned role, capability or skill. */
  subjectOf(row: Row): string;
  findSubjects(ids: readonly string[]): Statement<Subject>;
  itemOf(row: Row, subject: Subject): Item;
}

/** Reads one page of assignments, and in one statement all the records that they embed. */
async function listAssignments<Row, Subject extends { id: string }, Item>(
  context: Context,
  principalId: string,
  { limit, cursor }: WholeListQuery,
  { read, subjectOf, findSubjects, itemOf }: AssignmentKind<Row, Subject, Item>,
): Promise<ItemPage<Item>> {
  const rowsMax = limit === undefined && cursor === undefined ? wholeRowsMax : checkLimit(limit);
  await getPrincipalRow(context, principalId);
  const { items: rows, nextCursor } = await read({ limit: rowsMax, cursor });
  const ids = [...new Set(rows.map(subjectOf))];
  const subjects = new Map((await context.db.rows(findSubjects(ids))).map((row) => [row.id, row]));
  return { items: rows.map((row) => itemOf(row, subjects.get(subjectOf(row)) as Subject)), nextCursor };
}
