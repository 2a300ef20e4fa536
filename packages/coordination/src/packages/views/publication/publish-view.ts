import { newId } from '@baton/values/ids';
import { emit } from '../../../ledger/journal/journal.ts';
import { canonicalHash } from '../../../service/durable-text/canonical.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { viewsMax } from '../view.ts';
import type { ViewSpec } from '../view-spec.ts';
import { hasViews, insertView, lockView, updateToRetired, updateView } from './publish-view.sql.ts';
import { viewPublished, viewRetired } from './views.events.ts';

/**
 * When a package is applied, its views are published and retired with these functions, under the lock on packages
 * (`lockPackages`). The apply writes the links itself: kind `View` in `package_objects`. Nothing else creates views.
 */

export interface WrittenView {
  readonly action: 'create' | 'update' | 'restore' | 'retire' | 'unchanged';
  readonly version: number;
}

/** The hash that distinguishes the contents of views. */
function viewHashOf(spec: ViewSpec): string {
  return canonicalHash(spec, { fractions: 'allowed' });
}

/**
 * Publishes the next version of a view, or its first one; a retired view becomes active again. Publishing the same
 * content again changes nothing.
 * @param spec as returned by `checkView`
 * @throws Refusal `invalid_package` if the tenant has too many views
 */
export async function publishView(context: Context, key: string, spec: ViewSpec): Promise<WrittenView> {
  const { db, tenantId, caller } = context;
  const before = await db.row(lockView(tenantId, key));
  const written = { tenantId, key, spec, specHash: viewHashOf(spec) };
  if (before?.spec_hash === written.specHash && before.status === 'active')
    return { action: 'unchanged', version: before.version };
  const id = before?.id ?? newId();
  if (before?.status !== 'active') await requireRoom(context, key);
  await db.run(before === undefined ? insertView(written, id, caller.principalId) : updateView(written));
  const version = (before?.version ?? 0) + 1;
  emit(
    context,
    viewPublished,
    { entityId: id },
    { key, version, specHash: written.specHash, previousVersion: before?.version ?? null },
  );
  if (before === undefined) return { action: 'create', version };
  return { action: before.status === 'retired' ? 'restore' : 'update', version };
}

async function requireRoom({ db, tenantId }: Context, key: string): Promise<void> {
  const isFull = (await db.row(hasViews(tenantId, viewsMax)))?.has === true;
  const problem = {
    code: 'schema_violation',
    severity: 'error',
    path: '',
    message: `a tenant may have at most ${viewsMax} views`,
  };
  if (isFull) fail('invalid_package', { problems: [{ ...problem, view: key }] });
}

/** Retires a view; its key and its version are kept for a later publication. A missing view changes nothing. */
export async function retireView(context: Context, key: string): Promise<WrittenView> {
  const { db, tenantId } = context;
  const before = await db.row(lockView(tenantId, key));
  if (before === undefined || before.status === 'retired')
    return { action: 'unchanged', version: before?.version ?? 0 };
  await db.run(updateToRetired(tenantId, key));
  const version = before.version + 1;
  emit(context, viewRetired, { entityId: before.id }, { key, version });
  return { action: 'retire', version };
}
