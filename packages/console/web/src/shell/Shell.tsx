import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { lockAdministration } from '../administration/admin-secret.ts';
import { followOtherTabs, signOut } from '../client.ts';
import { useSignInRequestChanges, useSignInRequests } from '../inbox/sign-in-requests.ts';
import { useLive } from '../live.ts';
import { useNotifications } from '../notifications/use-notifications.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { Notices, notify } from '../parts/Notices.tsx';
import { useQuestion } from '../passkeys/fresh-sign-in.ts';
import { meQuery } from '../queries.ts';
import { useKeepHolds } from '../task/use-holds.tsx';
import { formatKeys, useActions } from './actions.ts';
import { ConnectionBanner } from './ConnectionBanner.tsx';
import { useKeys } from './keys.ts';
import { places, placesFor } from './places.ts';
import styles from './shell.module.css';
import { usePageTitle, useTitle } from './title.ts';

const loadPalette = () => import('./Palette.tsx');
const Palette = lazy(loadPalette);
const FreshSignIn = lazy(() => import('../passkeys/FreshSignIn.tsx'));
const KeyHelp = lazy(() => import('./KeyHelp.tsx'));
/** Preloaded after the page has rendered, so that input right after Ctrl K is not lost. */
const preloadMs = 2_000;

/** The overlay that is open; the palette with the initial text of its field. */
type Overlay = { readonly palette: string } | 'help' | undefined;

/** Navigation, palette and help around every page. */
export function Shell() {
  const me = useQuery(meQuery);
  const [overlay, setOverlay] = useState<Overlay>();
  const live = useLive(me.data?.permissions.includes('events.read') ?? false);
  useKeepHolds(me.data);
  useNotifications(me.data);
  const requests = useSignInRequests(me.data).data;
  useSignInRequestChanges(me.data);
  const question = useQuestion();
  const queries = useQueryClient();
  const isAway = me.isError && me.data !== undefined;
  useEffect(() => {
    if (!isAway) return;
    // When Baton is available again, failed queries are refetched.
    return () => void queries.invalidateQueries();
  }, [isAway, queries]);
  const { pathname } = useLocation();
  const place = places.find(({ to }) => to === `/${pathname.split('/')[1]}`);
  // A page about one object uses the object's title.
  usePageTitle(pathname === place?.to ? place.name : pathname === '/account' ? 'Your account' : undefined);
  useEffect(() => {
    document
      .querySelector(`nav [href="${place?.to}"]`)
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [place?.to]);
  useEffect(followOtherTabs, []);
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette().catch(() => undefined), preloadMs);
    return () => clearTimeout(timer);
  }, []);
  const actions = useActions({
    openPalette: (text = '') => setOverlay({ palette: text }),
    openHelp: () => setOverlay('help'),
    signOut: (isEverywhere) => void leave(isEverywhere),
  });
  useKeys(
    Object.fromEntries(
      actions.flatMap(({ keys, run }) => (keys === undefined ? [] : [[keys, () => void run('')]])),
    ),
  );

  async function leave(isEverywhere = false) {
    lockAdministration();
    try {
      await signOut({ isEverywhere });
    } catch (error) {
      return notify(<ErrorNote error={error} />, { isBad: true });
    }
    // A reload discards this person's access token and cached data.
    location.assign('/sign-in');
  }

  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <nav className={styles.nav} aria-label="Pages">
        <p className={styles.brand}>Baton</p>
        <ul>
          {placesFor(me.data?.permissions).map(({ to, name }) => (
            <li key={to}>
              <Link
                to={to}
                className={styles.link}
                activeProps={{ className: styles.active }}
                activeOptions={{ exact: to === '/', includeSearch: false }}
              >
                {name}
                {to === '/inbox' && (
                  <PendingCount
                    count={(me.data?.pendingApprovals.length ?? 0) + (requests?.items.length ?? 0)}
                    hasMore={requests?.hasMore ?? false}
                  />
                )}
              </Link>
            </li>
          ))}
        </ul>
        <div className={styles.foot}>
          <button
            type="button"
            onClick={() => setOverlay({ palette: '' })}
            aria-keyshortcuts="Control+K Meta+K"
          >
            Commands <kbd>{formatKeys('mod+k')}</kbd>
          </button>
          <p className={styles.me}>
            <Link to="/account" title="Your account">
              {me.data?.principal.displayName ?? 'Your account'}
            </Link>
            <span className="soft">
              {me.data?.tenant.name} · {me.isError ? 'not live' : live}
            </span>
          </p>
          <button type="button" onClick={() => void leave()}>
            Sign out
          </button>
        </div>
      </nav>
      {/* Focusable, so that a page without controls can be scrolled by keyboard too. */}
      <main id="content" className={styles.main} tabIndex={0}>
        {me.isError && me.data === undefined ? (
          <div className="page">
            <ErrorNote error={me.error} onRetry={() => void me.refetch()} />
          </div>
        ) : (
          <Outlet />
        )}
      </main>
      {isAway && <ConnectionBanner error={me.error} />}
      <Notices />
      <Suspense>
        {typeof overlay === 'object' && (
          <Palette actions={actions} given={overlay.palette} onClose={() => setOverlay(undefined)} />
        )}
        {question !== undefined && <FreshSignIn question={question} />}
        {overlay === 'help' && <KeyHelp actions={actions} onClose={() => setOverlay(undefined)} />}
      </Suspense>
    </div>
  );
}

function PendingCount({ count, hasMore }: { count: number; hasMore: boolean }) {
  if (count === 0) return null;
  const shown = hasMore ? `${count}+` : String(count);
  return (
    <span className={styles.count} title={`${shown} pending`}>
      {shown}
      <span className="visually-hidden"> pending</span>
    </span>
  );
}

export function Missing() {
  useTitle('Page not found');
  return (
    <main className="page">
      <h1>Page not found</h1>
      <p>
        There is no page at this URL. Tasks have URLs like <code className="mono">/tasks/TASK-000042</code>;
        approvals, projects and processes have URLs with their IDs.
      </p>
      <p>
        <Link to="/">Go to Work</Link>
      </p>
    </main>
  );
}
