import { Refusal } from '@baton/kernel/http/refusal';
import type { Endpoint, Input } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import { viewerOf } from '../service/sight/sight.ts';
import type { TaskRef } from '../work/tasks/task-ref.ts';
import type { Context } from './context.ts';
import { findTaskSight, sightOf } from './within-sight.sql.ts';

/**
 * Lets an endpoint find the object of its path only if the caller sees it. Otherwise the endpoint gets an id that
 * doesn't exist and refuses as for a missing object, in its own order of checks. See
 * docs/reference/README.md#visibility.
 */
export function limitToVisible(endpoint: Endpoint<Context>): Endpoint<Context> {
  const place = Object.keys(sightOf).find((path) => isAtPath(endpoint.path, path));
  if (place === undefined) return endpoint;
  const name = place.slice(place.indexOf('{') + 1, -1);
  const handle: Endpoint<Context>['handle'] = (input, context) =>
    context.caller.kind === 'human'
      ? handleWithinSight(endpoint, { place, name }, input, context)
      : endpoint.handle(input, context);
  return { ...endpoint, handle };
}

/** Whether an endpoint's path begins with that of a kind of objects. */
export function isAtPath(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`) || path.startsWith(`${place}:`);
}

async function handleWithinSight(
  endpoint: Endpoint<Context>,
  { place, name }: { place: string; name: string },
  input: Input<never, never, never>,
  context: Context,
): Promise<unknown> {
  const viewerId = await viewerOf(context);
  if (viewerId === null) return endpoint.handle(input, context);
  const params = input.params as unknown as Record<string, string | TaskRef>;
  const asked = params[name] as string | TaskRef;
  const ref = typeof asked === 'string' ? { id: asked, number: null } : asked;
  if (await isSeen(context, viewerId, place, ref)) return endpoint.handle(input, context);
  const nothing = newId();
  const absent = typeof asked === 'string' ? nothing : { id: nothing, number: null };
  try {
    return await endpoint.handle({ ...input, params: { ...params, [name]: absent } as never }, context);
  } catch (error) {
    throw error instanceof Refusal && typeof asked === 'string' ? naming(error, nothing, asked) : error;
  }
}

/**
 * Whether a person sees the object at a path. Also true for a missing object, which the endpoint itself refuses.
 * @param place a path of `sightOf`; objects at other paths are always visible
 */
export async function isSeen(
  { db, tenantId }: Pick<Context, 'db' | 'tenantId'>,
  viewerId: string,
  place: string,
  { id, number }: TaskRef,
): Promise<boolean> {
  if (id === null && number === null) return true;
  const statement =
    id === null
      ? findTaskSight(tenantId, viewerId, number as number)
      : sightOf[place]?.(tenantId, viewerId, id);
  return statement === undefined || (await db.row(statement))?.sees !== false;
}

/** Replaces the id in a refusal's details by the requested one. */
function naming(refusal: Refusal, id: string, asked: string): Refusal {
  const details = JSON.parse(JSON.stringify(refusal.details).replaceAll(id, asked));
  const { headers, reason, commits, status } = refusal;
  return new Refusal(refusal.code, details, {
    headers,
    commits,
    ...(reason !== undefined && { reason }),
    ...(status !== undefined && { status }),
  });
}
