import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { peopleSearch } from './access/people-search.ts';
import { administrationSearch } from './administration/administration-search.ts';
import { isSignedOut } from './client.ts';
import { takeWanted } from './consent/oauth-request.ts';
import { journalSearch } from './journal/journal-search.ts';
import { overviewSearch } from './overview/overview-search.ts';
import { ErrorNote } from './parts/Notes.tsx';
import { processesSearch } from './processes/processes-search.ts';
import { meQuery, queries } from './queries.ts';
import { Root } from './shell/Root.tsx';
import { Missing, Shell } from './shell/Shell.tsx';
import { WorkPage } from './work/WorkPage.tsx';
import { workSearch } from './work/work-search.ts';

/** Drops unknown parameters, which the router would otherwise keep in the URL. */
const strictly =
  <Search extends object>(read: (given: Record<string, unknown>) => Search) =>
  (given: Record<string, unknown>): Search => ({
    ...Object.fromEntries(Object.keys(given).map((name) => [name, undefined])),
    ...read(given),
  });

const root = createRootRoute({ component: Root, notFoundComponent: Missing });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: lazyRouteComponent(() => import('./shell/SignInPage.tsx'), 'SignInPage'),
});

const invite = createRoute({
  getParentRoute: () => root,
  path: '/invite',
  component: lazyRouteComponent(() => import('./invite/InvitePage.tsx'), 'InvitePage'),
});

/** All pages except the sign-in page and invitations. Loads the signed-in person before it renders. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  beforeLoad: async ({ location }) => {
    const isConsent = location.pathname === '/consent';
    // Before the sign-in page replaces the URL, which must not contain the request.
    if (isConsent) takeWanted();
    try {
      await queries.query({ ...meQuery, staleTime: 'static' });
    } catch (error) {
      if (isSignedOut(error))
        redirect({
          to: '/sign-in',
          // The sign-in page shows why the session ended, if any.
          search: {
            next: isConsent ? location.pathname : location.href,
            ...((error.code as string) !== 'signed_out' && { problem: error.code }),
          },
          throw: true,
        });
      // The shell shows any other error.
    }
  },
});

const pages = [
  createRoute({
    getParentRoute: () => shell,
    path: '/start',
    // A person who has just joined begins with the decisions that are waiting for them.
    beforeLoad: async () => {
      const me = await queries.query({ ...meQuery, staleTime: 'static' }).catch(() => undefined);
      const isAsked = (me?.pendingApprovals.length ?? 0) > 0;
      redirect({ to: isAsked ? '/inbox' : '/', replace: true, throw: true });
    },
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/',
    component: WorkPage,
    validateSearch: strictly(workSearch),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/overview',
    component: lazyRouteComponent(() => import('./overview/OverviewPage.tsx'), 'OverviewPage'),
    validateSearch: strictly(overviewSearch),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/tasks/$ref',
    component: lazyRouteComponent(() => import('./task/TaskPage.tsx'), 'TaskPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/inbox',
    component: lazyRouteComponent(() => import('./inbox/InboxPage.tsx'), 'InboxPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/approvals/$id',
    component: lazyRouteComponent(() => import('./approval/ApprovalPage.tsx'), 'ApprovalPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/runs/$id',
    component: lazyRouteComponent(() => import('./run/RunPage.tsx'), 'RunPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/agents',
    component: lazyRouteComponent(() => import('./people/PeoplePage.tsx'), 'PeoplePage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/people',
    component: lazyRouteComponent(() => import('./access/PeopleAndAgentsPage.tsx'), 'PeopleAndAgentsPage'),
    validateSearch: strictly(peopleSearch),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/people/roles',
    component: lazyRouteComponent(() => import('./access/AccessRolesPage.tsx'), 'AccessRolesPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/people/$id',
    component: lazyRouteComponent(() => import('./access/PersonPage.tsx'), 'PersonPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/journal',
    component: lazyRouteComponent(() => import('./journal/JournalPage.tsx'), 'JournalPage'),
    validateSearch: strictly(journalSearch),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/projects',
    component: lazyRouteComponent(() => import('./projects/ProjectsPage.tsx'), 'ProjectsPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/projects/$id',
    component: lazyRouteComponent(() => import('./projects/ProjectPage.tsx'), 'ProjectPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/processes',
    component: lazyRouteComponent(() => import('./processes/ProcessesPage.tsx'), 'ProcessesPage'),
    validateSearch: strictly(processesSearch),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/processes/$id',
    component: lazyRouteComponent(() => import('./processes/InstancePage.tsx'), 'InstancePage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/skills',
    component: lazyRouteComponent(() => import('./skills/SkillsPage.tsx'), 'SkillsPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/knowledge',
    component: lazyRouteComponent(() => import('./knowledge/KnowledgePage.tsx'), 'KnowledgePage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/administration',
    component: lazyRouteComponent(
      () => import('./administration/AdministrationPage.tsx'),
      'AdministrationPage',
    ),
    validateSearch: strictly(administrationSearch),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/account',
    component: lazyRouteComponent(() => import('./account/AccountPage.tsx'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/consent',
    component: lazyRouteComponent(() => import('./consent/ConsentPage.tsx'), 'ConsentPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/system',
    component: lazyRouteComponent(() => import('./system/SystemPage.tsx'), 'SystemPage'),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren([signIn, invite, shell.addChildren(pages)]),
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => (
    <div className="page">
      <ErrorNote error={error} onRetry={reset} />
    </div>
  ),
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
