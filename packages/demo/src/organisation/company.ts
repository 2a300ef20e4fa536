import { type BatonClient, BatonError, etagOf } from '@baton/sdk';
import type { DemoWorkspace } from '../demo-workspace.ts';

/** A calendar whose second version adds a holiday. */
export interface DemoCalendar {
  readonly key: string;
  readonly timezone: string;
  readonly holiday: string;
}

export interface DemoProject {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  /** The maximum number of actions in a run of the workspace's tasks, and the project or template that sets it. */
  readonly maxRunActions: number;
  readonly saidBy: string;
}

/** The objects of the demo. */
export interface Company {
  readonly calendar: DemoCalendar;
  readonly templateKey: string;
  readonly company: DemoProject;
  readonly shop: DemoProject;
  /** The error code for the shop's attempt to exceed the company's limit. */
  readonly refusedCode: string;
  readonly taskType: string;
  readonly rule: { readonly id: string; readonly key: string };
}

/** Numbers of actions per run: the template's limit, the shop's limit, and the limit that is rejected. */
export const runActions = { template: 40, shop: 10, refused: 100 };

const timezone = 'Europe/Berlin';
const dayMs = 86_400_000;

/** The source of the shop's knowledge in the memory service. */
export const knowledgeSource = 'demo-handbook';

/** The keys of the demo's tenant-wide objects, and the slug of the shop's workspace. */
export const keysOfCompany = (suffix: string) => ({
  calendar: `demo-office-${suffix}`,
  template: `demo-project-${suffix}`,
  taskType: `demo-change-${suffix}`,
  rule: `demo-review-${suffix}`,
  shop: `shop-${suffix}`,
});

/**
 * Sets up the company in the demo's workspace.
 * @param reviewerId the assignee of the review that the rule creates; a review without an assignee would be offered to
 * every agent
 */
export async function foundCompany(
  operator: BatonClient,
  { id: parentWorkspaceId, suffix }: Pick<DemoWorkspace, 'id' | 'suffix'>,
  reviewerId: string,
  now: Date,
): Promise<Company> {
  const keys = keysOfCompany(suffix);
  const calendar = await publishCalendar(operator, keys.calendar, now);
  const { template: templateKey, taskType } = keys;
  await operator.projectTemplates.create({
    key: templateKey,
    displayName: 'Project of the demo',
    defaultConfig: { governance: { maxRunActions: runActions.template } },
  });
  const company = await makeProject(operator, {
    templateKey,
    slug: `nordwind-${suffix}`,
    name: 'Nordwind',
    parentWorkspaceId,
  });
  const shop = await makeProject(operator, {
    templateKey,
    slug: keys.shop,
    name: 'Web shop of Nordwind',
    parentWorkspaceId: company.workspaceId,
  });
  await narrow(operator, shop.id, runActions.shop);
  const refusedCode = await refusalOf(() => makeRevision(operator, shop.id, runActions.refused));
  await operator.taskTypes.create({ key: taskType, displayName: 'Change' });
  const projects = [company, shop];
  return {
    calendar,
    templateKey,
    company: await withLimit(operator, company, projects),
    shop: await withLimit(operator, shop, projects),
    refusedCode,
    taskType,
    rule: await makeRule(operator, { key: keys.rule, taskType, workspaceId: shop.workspaceId, reviewerId }),
  };
}

/** The holiday is the first weekday from tomorrow on. */
async function publishCalendar(operator: BatonClient, key: string, now: Date): Promise<DemoCalendar> {
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
  await operator.calendars.publish({ key, spec: spec([]) });
  await operator.calendars.publish({ key, spec: spec([holiday]) });
  return { key, timezone, holiday };
}

type MadeProject = Pick<DemoProject, 'id' | 'workspaceId' | 'name'>;

async function makeProject(
  operator: BatonClient,
  {
    templateKey,
    slug,
    name,
    parentWorkspaceId,
  }: {
    readonly templateKey: string;
    readonly slug: string;
    readonly name: string;
    readonly parentWorkspaceId: string;
  },
): Promise<MadeProject> {
  const { id, workspaceId } = await operator.projects.create({
    templateKey,
    workspaceSlug: slug,
    workspaceName: name,
    parentWorkspaceId,
  });
  return { id, workspaceId, name };
}

function makeRevision(operator: BatonClient, projectId: string, maxRunActions: number) {
  return operator.projects.createConfigRevision(projectId, { config: { governance: { maxRunActions } } });
}

async function narrow(operator: BatonClient, projectId: string, maxRunActions: number): Promise<void> {
  const { revision } = await makeRevision(operator, projectId, maxRunActions);
  const ifMatch = etagOf(await operator.projects.get(projectId));
  await operator.projects.activateConfigRevision(projectId, String(revision), { ifMatch });
}

/**
 * @throws Error if the request is not rejected
 */
async function refusalOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (error instanceof BatonError) return error.code;
    throw error;
  }
  throw new Error('a project was allowed more than the one above it');
}

async function withLimit(
  operator: BatonClient,
  project: MadeProject,
  projects: readonly MadeProject[],
): Promise<DemoProject> {
  const { config, provenance } = await operator.projects.getEffectiveConfig(project.id);
  const origin = provenance.governance['maxRunActions'];
  const name = projects.find(({ id }) => id === origin?.projectId)?.name ?? project.name;
  const saidBy = origin?.source === 'template' ? 'its template' : `the ${origin?.source} of ${name}`;
  return { ...project, maxRunActions: Number(config.governance['maxRunActions']), saidBy };
}

/** Creates the rule by which every finished change in the workspace gets one review. */
async function makeRule(
  operator: BatonClient,
  {
    key,
    taskType,
    workspaceId,
    reviewerId,
  }: Readonly<Record<'key' | 'taskType' | 'workspaceId' | 'reviewerId', string>>,
): Promise<Company['rule']> {
  const { id } = await operator.rules.create({
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
        assignee: reviewerId,
        workspaceId: '{{ task.workspaceId }}',
        relations: { spawnedBy: '{{ task.id }}' },
      },
    },
  });
  return { id, key };
}
