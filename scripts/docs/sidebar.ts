import type { Tree } from '../links.ts';
import { headingsOf } from './headings.ts';
import type { Page } from './pages.ts';
import { referencesOf } from './references.ts';

/** A page in the sidebar, identified by its file. Its label defaults to its title. */
type Entry = string | { readonly file: string; readonly label: string };

export interface Section {
  readonly label: string;
  readonly entries: readonly (Entry | Section)[];
  /** Whether the section is collapsed until a reader opens it or one of its pages. */
  readonly collapsed?: boolean;
}

const reference = (...names: readonly string[]) => names.map((name) => `docs/reference/${name}.md`);

/** The order of the site, with the pages for newcomers first. A test fails if a page isn't listed. */
const ownSections: readonly Section[] = [
  {
    label: 'Start',
    entries: [
      { file: 'README.md', label: 'Quick start' },
      { file: 'docs/coordination.md', label: 'Set up work' },
      { file: 'docs/mcp.md', label: 'Connect an MCP agent' },
      { file: 'docs/runner.md', label: 'Run any program' },
      { file: 'packages/sdk/README.md', label: 'Use the SDK' },
    ],
  },
  {
    label: 'Guides',
    entries: [
      { file: 'docs/organisation.md', label: 'Rules and calendars' },
      { file: 'docs/processes.md', label: 'Processes' },
      { file: 'docs/agents.md', label: 'Agents and connections' },
      { file: 'docs/identity.md', label: 'Identity' },
      { file: 'docs/follow.md', label: 'Follow what agents do' },
      { file: 'docs/notifications.md', label: 'Notifications' },
      {
        label: 'Workload identity',
        collapsed: true,
        entries: [
          { file: 'docs/workload-identity/README.md', label: 'Overview' },
          { file: 'docs/workload-identity/github-actions.md', label: 'GitHub Actions' },
          { file: 'docs/workload-identity/gitlab-ci.md', label: 'GitLab CI' },
          { file: 'docs/workload-identity/kubernetes.md', label: 'Kubernetes' },
          { file: 'docs/workload-identity/spiffe.md', label: 'SPIFFE' },
        ],
      },
      { file: 'docs/access.md', label: 'People and access' },
      { file: 'docs/apply.md', label: 'Declare a tenant in files' },
      { file: 'docs/import.md', label: 'Import and export' },
      {
        label: 'Examples',
        collapsed: true,
        entries: [
          { file: 'examples/agent-shell/README.md', label: 'Agent in shell' },
          { file: 'examples/agent-python/README.md', label: 'Agent in Python' },
          { file: 'examples/agent-coding/README.md', label: 'Coding agent' },
          { file: 'examples/change/README.md', label: 'A change process' },
          { file: 'examples/lease-guard/README.md', label: 'Lease guard' },
        ],
      },
    ],
  },
  {
    label: 'Reference',
    entries: [
      { file: 'docs/cli.md', label: 'Command line' },
      { file: 'docs/configuration.md', label: 'Settings' },
      { file: 'docs/errors.md', label: 'Error codes' },
      { file: 'docs/events.md', label: 'Events' },
      { file: 'docs/permissions.md', label: 'Permissions' },
      { file: 'docs/reference/README.md', label: 'Conventions of the API' },
      { file: 'docs/reference/idempotency.md', label: 'Idempotency' },
      { file: 'docs/reference/trust.md', label: 'Trust' },
      { file: 'docs/reference/versions.md', label: 'Versions and deprecation' },
      {
        label: 'Work',
        collapsed: true,
        entries: [
          ...reference('tasks', 'relations', 'availability'),
          { file: 'docs/reference/definitions.md', label: 'Task types and checks' },
          ...reference('comments-and-goals', 'views-and-lists'),
          { file: 'docs/reference/workspaces.md', label: 'Workspaces and calendars' },
          { file: 'docs/reference/projects.md', label: 'Projects' },
        ],
      },
      {
        label: 'Execution',
        collapsed: true,
        entries: [
          ...reference('claims', 'sessions', 'runs'),
          { file: 'docs/reference/actions-and-usage.md', label: 'Actions and control' },
          ...reference('completion', 'artifacts', 'approvals'),
          { file: 'docs/reference/skills.md', label: 'Skills and invocations' },
        ],
      },
      {
        label: 'Automation and memory',
        collapsed: true,
        entries: reference('rules', 'processes', 'memory'),
      },
      {
        label: 'Agents and packages',
        collapsed: true,
        entries: reference('agents', 'connections', 'packages'),
      },
      {
        label: 'Journal and access',
        collapsed: true,
        entries: reference('journal', 'statistics', 'notifications', 'access', 'authorization'),
      },
      {
        label: 'Identity service',
        collapsed: true,
        entries: [
          { file: 'docs/reference/directory.md', label: 'Directory' },
          { file: 'docs/reference/credentials.md', label: 'Credentials' },
          { file: 'docs/reference/tokens.md', label: 'Tokens and signing keys' },
          { file: 'docs/reference/providers.md', label: 'Identity providers' },
          { file: 'docs/reference/workload-identity.md', label: 'Workload identity' },
          { file: 'docs/reference/passkeys.md', label: 'Passkeys' },
          { file: 'docs/reference/browser-sessions.md', label: 'Browser sessions' },
          { file: 'docs/reference/oauth.md', label: 'OAuth clients' },
          { file: 'docs/reference/invitations.md', label: 'Invitations' },
          { file: 'docs/reference/administration-tokens.md', label: 'Administration tokens' },
          { file: 'docs/reference/sign-in-requests.md', label: 'Sign-in requests' },
          { file: 'docs/reference/scim.md', label: 'SCIM' },
          'docs/reference/console-sign-in.md',
          { file: 'docs/reference/audit.md', label: 'Journal and audit log' },
        ],
      },
    ],
  },
  {
    label: 'Operations',
    entries: [
      { file: 'docs/operations.md', label: 'Run Baton in production' },
      'docs/performance.md',
      { file: 'SECURITY.md', label: 'Security' },
      'CHANGELOG.md',
    ],
  },
  {
    label: 'Contribute',
    entries: ['ARCHITECTURE.md', 'CONTRIBUTING.md'],
  },
];

const decisionsIndex = 'docs/decisions/README.md';

/** Returns the sections of the sidebar. The sections of the decisions are taken from their index page. */
export function sectionsOf(tree: Tree): Section[] {
  const decisions = indexSections(tree.read(decisionsIndex), 'docs/decisions/');
  return [
    ...ownSections,
    {
      label: 'Decisions',
      collapsed: true,
      entries: [{ file: decisionsIndex, label: 'All decisions' }, ...decisions],
    },
  ];
}

/** The headings of an index page, each with the linked pages of the same folder. */
function indexSections(markdown: string, folder: string): Section[] {
  const links = referencesOf(markdown).filter(({ target }) => /^[\w-]+\.md$/.test(target));
  const headings = headingsOf(markdown).filter(({ level }) => level === 2);
  return headings.map(({ text, start }, index) => {
    const end = headings[index + 1]?.start ?? markdown.length;
    const own = links.filter((link) => link.start > start && link.start < end);
    return { label: text, collapsed: true, entries: own.map(({ target }) => `${folder}${target}`) };
  });
}

/** Returns one line per page that is listed in no section or in several, and per listed page that does not exist. */
export function sidebarProblems(
  sections: readonly Section[],
  pages: readonly Pick<Page, 'file'>[],
): string[] {
  const listed = filesIn(sections);
  const files = new Set(pages.map(({ file }) => file));
  return [
    ...[...files]
      .filter((file) => !listed.includes(file))
      .map((file) =>
        file.startsWith('docs/decisions/')
          ? `${file} is not listed in ${decisionsIndex}`
          : `${file} is in no section of the sidebar: add it to scripts/docs/sidebar.ts`,
      ),
    ...[...new Set(listed)]
      .filter((file) => !files.has(file))
      .map((file) => `${file} is in the sidebar and no page`),
    ...listed
      .filter((file, index) => listed.indexOf(file) < index)
      .map((file) => `${file} is in the sidebar twice`),
  ];
}

/** Returns the files of all pages in these sections, in sidebar order. */
export function filesIn(sections: readonly Section[]): string[] {
  return sections.flatMap(({ entries }) =>
    entries.flatMap((entry) =>
      typeof entry === 'string' ? [entry] : 'entries' in entry ? filesIn([entry]) : [entry.file],
    ),
  );
}

/** An item of Starlight's sidebar. */
export type SidebarItem =
  | { readonly label: string; readonly link: string }
  | { readonly label: string; readonly collapsed: boolean; readonly items: readonly SidebarItem[] };

/** Returns the sidebar in the form of Starlight's configuration. */
export function sidebarItems(entries: readonly (Entry | Section)[], pages: readonly Page[]): SidebarItem[] {
  return entries.flatMap((entry): SidebarItem[] => {
    if (typeof entry !== 'string' && 'entries' in entry) {
      const { label, entries: below, collapsed = false } = entry;
      return [{ label, collapsed, items: sidebarItems(below, pages) }];
    }
    const { file, label } = typeof entry === 'string' ? { file: entry, label: undefined } : entry;
    const page = pages.find((one) => one.file === file);
    return page === undefined ? [] : [{ label: label ?? page.title, link: pathOf(page) }];
  });
}

/** Returns the path of a page on the site. */
export const pathOf = ({ address }: Pick<Page, 'address'>): string => (address === '' ? '/' : `/${address}/`);
