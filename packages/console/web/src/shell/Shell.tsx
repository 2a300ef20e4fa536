import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { forgetAdministration } from '../administration/admin-secret.ts';
import { followOtherTabs, signOut } from '../client.ts';
import { useLive } from '../live.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { Notices, tell } from '../parts/Notices.tsx';
import { meQuery } from '../queries.ts';
import { useKeepHolds } from '../task/use-holds.tsx';
import { keysInWords, useActions } from './actions.ts';
import { useKeys } from './keys.ts';
import { places } from './places.ts';
import styles from './shell.module.css';
import { Trouble } from './Trouble.tsx';
import { usePageTitle, useTitle } from './title.ts';

const loadPalette = () => import('./Palette.tsx');
const Palette = lazy(loadPalette);
const KeyHelp = lazy(() => import('./KeyHelp.tsx'));
/** Once the page stands, so that what is typed right after Ctrl K is not lost. */
const preloadMs = 2_000;

/** What is open above the page; the palette with the text that its field has already. */
type Overlay = { readonly palette: string } | 'help' | undefined;

/** Navigation, palette and help around every page. */
export function Shell() {
  const me = useQuery(meQuery);
  const [overlay, setOverlay] = useState<Overlay>();
  const live = useLive(me.data?.permissions.includes('events.read') ?? false);
  useKeepHolds(me.data);
  const queries = useQueryClient();
  const isAway = me.isError && me.data !== undefined;
  useEffect(() => {
    if (!isAway) return;
    // When Baton is back, all that failed meanwhile is asked for again.
    return () => void queries.invalidateQueries();
  }, [isAway, queries]);
  const { pathname } = useLocation();
  const place = places.find(({ to }) => to === `/${pathname.split('/')[1]}`);
  // A page that is about one thing names itself by that thing.
  usePageTitle(pathname === place?.to ? place.name : undefined);
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
    forgetAdministration();
    try {
      await signOut({ isEverywhere });
    } catch (error) {
      return tell(<ErrorNote error={error} />, { isBad: true });
    }
    // Loaded again, the page holds nothing of who was here: no access token, no answer.
    location.assign('/sign-in');
  }

  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        Skip to the content
      </a>
      <nav className={styles.nav} aria-label="Pages">
        <p className={styles.brand}>Baton</p>
        <ul>
          {places.map(({ to, name }) => (
            <li key={to}>
              <Link
                to={to}
                className={styles.link}
                activeProps={{ className: styles.active }}
                activeOptions={{ exact: to === '/', includeSearch: false }}
              >
                {name}
                {to === '/inbox' && <WaitingCount count={me.data?.pendingApprovals.length ?? 0} />}
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
            Commands <kbd>{keysInWords('mod+k')}</kbd>
          </button>
          <p className={styles.me}>
            <span>{me.data?.principal.displayName}</span>
            <span className="soft">
              {me.data?.tenant.name} · {me.isError ? 'not live' : live}
            </span>
          </p>
          <button type="button" onClick={() => void leave()}>
            Sign out
          </button>
        </div>
      </nav>
      {/* In the order of Tab: a page without a field or a link is scrolled by keys too. */}
      <main id="content" className={styles.main} tabIndex={0}>
        {me.isError && me.data === undefined ? (
          <div className="page">
            <ErrorNote error={me.error} onRetry={() => void me.refetch()} />
          </div>
        ) : (
          <Outlet />
        )}
      </main>
      {isAway && <Trouble error={me.error} />}
      <Notices />
      <Suspense>
        {typeof overlay === 'object' && (
          <Palette actions={actions} given={overlay.palette} onClose={() => setOverlay(undefined)} />
        )}
        {overlay === 'help' && <KeyHelp actions={actions} onClose={() => setOverlay(undefined)} />}
      </Suspense>
    </div>
  );
}

function WaitingCount({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <span className={styles.count} title={`${count} wait for you`}>
      {count}
      <span className="visually-hidden"> wait for you</span>
    </span>
  );
}

export function Missing() {
  useTitle('There is no such page');
  return (
    <main className="page">
      <h1>There is no such page</h1>
      <p>
        The console has nothing at this address. A task is at <code className="mono">/tasks/TASK-000042</code>
        , an approval, a project and a process at their ids.
      </p>
      <p>
        <Link to="/">Go to the work</Link>
      </p>
    </main>
  );
}
