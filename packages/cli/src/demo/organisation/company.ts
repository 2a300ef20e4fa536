import { BatonError } from '@baton/sdk';
import type { CoordinationClient } from '../../coordination-client.ts';

/** A calendar of which the second version has a holiday that the first one did not know. */
export interface DemoCalendar {
  readonly key: string;
  readonly timezone: string;
  readonly holiday: string;
}

export interface DemoProject {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  /** How many actions a run of its tasks may record, and which project or template says so. */
  readonly maxRunActions: number;
  readonly saidBy: string;
}

/** What the demo sets up. */
export interface Company {
  readonly calendar: DemoCalendar;
  readonly templateKey: string;
  readonly company: DemoProject;
  readonly shop: DemoProject;
  /** The code with which the shop was refused more than the company allows. */
  readonly refusedCode: string;
  readonly taskType: string;
  readonly rule: { readonly id: string; readonly key: string };
}

/** Actions of a run: what the template says, what the shop says, and what it asks for in vain. */
export const runActions = { template: 40, shop: 10, refused: 100 };

const timezone = 'Europe/Berlin';
const dayMs = 86_400_000;

/** @param suffix makes the names of this demo new */
export async function foundCompany(
  operator: CoordinationClient,
  suffix: string,
  now: Date,
): Promise<Company> {
  const calendar = await publishCalendar(operator, `demo-office-${suffix}`, now);
  const templateKey = `demo-project-${suffix}`;
  await operator.call('POST', '/project-templates', {
    key: templateKey,
    displayName: 'Project of the demo',
    defaultConfig: { governance: { maxRunActions: runActions.template } },
  });
  const company = await makeProject(operator, { templateKey, slug: `nordwind-${suffix}`, name: 'Nordwind' });
  const shop = await makeProject(operator, {
    templateKey,
    slug: `shop-${suffix}`,
    name: 'Web shop of Nordwind',
    parentWorkspaceId: company.workspaceId,
  });
  await narrow(operator, shop.id, runActions.shop);
  const refusedCode = await refusalOf(() => makeRevision(operator, shop.id, runActions.refused));
  const taskType = `demo-change-${suffix}`;
  await operator.call('POST', '/task-types', { key: taskType, displayName: 'Change' });
  const projects = [company, shop];
  return {
    calendar,
    templateKey,
    company: await withLimit(operator, company, projects),
    shop: await withLimit(operator, shop, projects),
    refusedCode,
    taskType,
    rule: await makeRule(operator, `demo-review-${suffix}`, taskType, shop.workspaceId),
  };
}

/** The holiday is the first day from tomorrow on that is no weekend. */
async function publishCalendar(operator: CoordinationClient, key: string, now: Date): Promise<DemoCalendar> {
  let day = new Date(now.getTime() + dayMs);
  while ([0, 6].includes(day.getUTCDay())) day = new Date(day.getTime() + dayMs);
  const holiday = day.toISOString().slice(0, 10);
  const spec = (holidays: readonly string[]) => ({
    displayName: 'Office of Nordwind',
    timezone,
    workingHours: { intervals: [{ from: '09:00', to: '17:00' }] },
    years: [now.getUTCFullYear(), now.getUTCFullYear() + 1].map((year) => ({
      year,
      holidays: holidays.filter((date) => date.startsWith(`${year}-`)),
    })),
  });
  await operator.call('POST', '/calendars', { key, spec: spec([]) });
  await operator.call('POST', '/calendars', { key, spec: spec([holiday]) });
  return { key, timezone, holiday };
}

type MadeProject = Pick<DemoProject, 'id' | 'workspaceId' | 'name'>;

async function makeProject(
  operator: CoordinationClient,
  { templateKey, slug, name, parentWorkspaceId }: Record<string, string>,
): Promise<MadeProject> {
  const body = { templateKey, workspaceSlug: slug, workspaceName: name, parentWorkspaceId };
  const { id, workspaceId } = await operator.call<MadeProject>('POST', '/projects', body);
  return { id, workspaceId, name: name as string };
}

async function makeRevision(operator: CoordinationClient, projectId: string, maxRunActions: number) {
  const config = { governance: { maxRunActions } };
  return await operator.call<{ revision: number }>('POST', `/projects/${projectId}/config-revisions`, {
    config,
  });
}

async function narrow(operator: CoordinationClient, projectId: string, maxRunActions: number): Promise<void> {
  const { revision } = await makeRevision(operator, projectId, maxRunActions);
  const { version } = await operator.call<{ version: number }>('GET', `/projects/${projectId}`);
  const path = `/projects/${projectId}/config-revisions/${revision}:activate`;
  await operator.call('POST', path, undefined, { ifMatch: `"project-${version}"` });
}

/** @throws Error when it is not refused */
async function refusalOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (error instanceof BatonError) return error.code;
    throw error;
  }
  throw new Error('a project was allowed more than the one above it');
}

interface EffectiveConfig {
  readonly config: { readonly governance: { readonly maxRunActions: number } };
  readonly provenance: {
    readonly governance: Readonly<Record<string, { readonly source: string; readonly projectId: string }>>;
  };
}

async function withLimit(
  operator: CoordinationClient,
  project: MadeProject,
  projects: readonly MadeProject[],
): Promise<DemoProject> {
  const path = `/projects/${project.id}/effective-config`;
  const { config, provenance } = await operator.call<EffectiveConfig>('GET', path);
  const origin = provenance.governance['maxRunActions'];
  const name = projects.find(({ id }) => id === origin?.projectId)?.name ?? project.name;
  const saidBy = origin?.source === 'template' ? 'its template' : `the ${origin?.source} of ${name}`;
  return { ...project, maxRunActions: config.governance.maxRunActions, saidBy };
}

/** Every finished change of the workspace gets a review, once. */
async function makeRule(
  operator: CoordinationClient,
  key: string,
  taskType: string,
  workspaceId: string,
): Promise<Company['rule']> {
  const { id } = await operator.call<{ id: string }>('POST', '/rules', {
    key,
    workspaceId,
    description: 'Every finished change gets a review.',
    trigger: { kind: 'event', type: 'task.completed' },
    condition: { eq: [{ var: 'task.typeKey' }, taskType] },
    action: {
      kind: 'ensure_work',
      taskType: 'task',
      dedupKeyTemplate: `${key}-{{ task.publicId }}`,
      fields: {
        title: 'Review: {{ task.title }}',
        priority: '{{ task.priority }}',
        workspaceId: '{{ task.workspaceId }}',
        relations: { spawnedBy: '{{ task.id }}' },
      },
    },
  });
  return { id, key };
}
