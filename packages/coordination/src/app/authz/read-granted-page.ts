import type { ParsedInput } from '@baton/kernel/http/input';
import { pageLimitDefault, pageLimitMax } from '@baton/kernel/http/paging';
import type { Answer } from '@baton/kernel/http/service';
import type { PolicyRights } from '../../access/policy/rights.ts';
import type { Listed, ListedObject } from './listed-objects.ts';
import { runWithDecisions } from './run-with-decisions.ts';

/**
 * The maximum number of granted ids by which a list's query is filtered; with more, items are filtered after the read.
 */
const idsMax = 5000;
/**
 * The number of reads that one request may make to fill its page. If that isn't enough, the page is short, with a
 * cursor to continue.
 */
const readsMax = 20;
const readMsMax = 5000;
/** The number of rows of one read if most rows may be filtered out. */
const readRows = 100;

interface PageBody {
  readonly items: readonly never[];
  readonly nextCursor: string | null;
}

/**
 * Returns a page of the items that the decision point grants. A page may be short or empty and still have a cursor. See
 * docs/reference/authorization.md#lists.
 * @param read runs the list
 */
export async function readGrantedPage(
  rights: PolicyRights,
  listed: Listed,
  tenantId: string,
  input: ParsedInput,
  read: (input: ParsedInput) => Promise<Answer>,
): Promise<Answer> {
  const only = narrowingOf(rights, listed);
  const untilMs = performance.now() + readMsMax;
  const { limit = pageLimitDefault } = input;
  const items: never[] = [];
  let { cursor } = input;
  for (let round = 1; ; round += 1) {
    const left = limit - items.length;
    // The first read uses the requested limit, so that the list itself rejects an invalid one.
    const rows = round === 1 ? input.limit : Math.min(Math.max(left, readRows), pageLimitMax);
    const part = { ...input, limit: rows, cursor, ...(only && { only }) };
    let answer = await read(part);
    let { items: found, nextCursor } = answer.body as PageBody;
    let seen = await granted(rights, listed, tenantId, found);
    if (seen.length > left) {
      // Only the list can create cursors, so the page is read again up to the last item that fits.
      const last = found.indexOf(seen[left - 1] as never);
      answer = await read({ ...part, limit: last + 1 });
      ({ items: found, nextCursor } = answer.body as PageBody);
      seen = (await granted(rights, listed, tenantId, found)).slice(0, left);
    }
    items.push(...seen);
    const isDone = items.length >= limit || nextCursor === null;
    if (isDone || round === readsMax || performance.now() > untilMs)
      return { ...answer, body: { ...(answer.body as object), items, nextCursor } };
    cursor = nextCursor as string;
  }
}

function narrowingOf(rights: PolicyRights, { action, type, column }: Listed) {
  const ids = rights.idsOf(action, type);
  if (column === undefined || ids === undefined || ids.size > idsMax) return undefined;
  return { column, ids: [...ids].filter((id) => uuidForm.test(id)) };
}

/** Ids from the decision point that aren't UUIDs are not objects of this service. */
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function granted(
  rights: PolicyRights,
  listed: Listed,
  tenantId: string,
  items: readonly never[],
): Promise<readonly never[]> {
  const objects = items.map((item) => listed.objectOf(item, tenantId));
  const groups = new Map<string, ListedObject[]>();
  for (const object of objects) {
    const name = `${object.action} ${object.type}`;
    groups.set(name, [...(groups.get(name) ?? []), object]);
  }
  const seen = new Set<string>();
  for (const [name, group] of groups) {
    const { action, type } = group[0] as ListedObject;
    const ids = group.map((object) => object.id);
    const permitted = await runWithDecisions(rights, async () => rights.permitted(action, type, ids));
    for (const id of permitted) seen.add(`${name} ${id}`);
  }
  return items.filter((_, index) => {
    const { action, type, id } = objects[index] as ListedObject;
    return seen.has(`${action} ${type} ${id}`);
  });
}
