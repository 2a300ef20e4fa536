import { z } from 'zod';
import { checkDocument } from '../../service/documents.ts';
import {
  isObject,
  refuseLifecycle,
  refuseOthers,
  requireStatusKey,
  statusesMax,
  statusesOf,
  statusKeyCharactersMax,
  statusNameCharactersMax,
  transitionsOf,
} from '../status-graph.ts';

export const projectCategories = [
  'planned',
  'active',
  'paused',
  'terminal_success',
  'terminal_cancelled',
] as const;
export type ProjectCategory = (typeof projectCategories)[number];

export const StatusKey = z.string().min(1).max(statusKeyCharactersMax);

/** The statuses of a template's projects and the transitions between them. See docs/reference/projects.md#lifecycle. */
export const ProjectLifecycle = z
  .strictObject({
    initialStatus: StatusKey,
    statuses: z
      .array(
        z.strictObject({
          key: StatusKey,
          category: z.enum(projectCategories),
          displayName: z.string().min(1).max(statusNameCharactersMax),
        }),
      )
      .min(1)
      .max(statusesMax),
    transitions: z
      .array(z.strictObject({ from: StatusKey, to: z.array(StatusKey).max(statusesMax) }))
      .max(statusesMax),
  })
  .meta({ id: 'ProjectLifecycle' });
export type ProjectLifecycle = z.infer<typeof ProjectLifecycle>;

/** The lifecycle of a template that declares none. */
export const defaultLifecycle: ProjectLifecycle = {
  initialStatus: 'planned',
  statuses: [
    { key: 'planned', category: 'planned', displayName: 'planned' },
    { key: 'active', category: 'active', displayName: 'active' },
    { key: 'paused', category: 'paused', displayName: 'paused' },
    { key: 'completed', category: 'terminal_success', displayName: 'completed' },
    { key: 'cancelled', category: 'terminal_cancelled', displayName: 'cancelled' },
  ],
  transitions: [
    { from: 'planned', to: ['active', 'cancelled'] },
    { from: 'active', to: ['paused', 'completed', 'cancelled'] },
    { from: 'paused', to: ['active', 'cancelled'] },
  ],
};

/**
 * @throws Refusal `invalid_lifecycle_schema` with the path of the problem, `invalid_document`, `payload_too_large`,
 * `payload_too_deep`
 */
export function parseProjectLifecycle(sent: unknown): ProjectLifecycle {
  if (!isObject(sent)) return refuseLifecycle('', 'must be an object');
  checkDocument(sent, { field: 'lifecycleSchema' });
  refuseOthers(sent, '', ['initialStatus', 'statuses', 'transitions']);
  const statuses = statusesOf(sent['statuses'], projectCategories);
  const known = new Map(statuses.map(({ key, category }) => [key, category]));
  const initialStatus = requireStatusKey(known, sent['initialStatus'], '/initialStatus');
  return { initialStatus, statuses, transitions: transitionsOf(known, sent['transitions'] ?? []) };
}
