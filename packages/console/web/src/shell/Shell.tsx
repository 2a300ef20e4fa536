import { useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { forgetAdministration } from '../administration/admin-secret.ts';
import { signOut } from '../client.ts';
import { useLive } from '../live.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { useActions } from './actions.ts';
import { useKeys } from './keys.ts';
import { Notices } from './Notices.tsx';
import { places } from './places.ts';
import styles from './shell.module.css';

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
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), preloadMs);
    return () => clearTimeout(timer);
  }, []);
  const actions = useActions({
    openPalette: (text = '') => setOverlay({ palette: text }),
    openHelp: () => setOverlay('help'),
    signOut: () => void leave(),
  });
  useKeys(
    Object.fromEntries(
      actions.flatMap(({ keys, run }) => (keys === undefined ? [] : [[keys, () => void run('')]])),
    ),
  );

  async function leave() {
    forgetAdministration();
    await signOut();
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
            Commands <kbd>Ctrl K</kbd>
          </button>
          <p className={styles.me}>
            <span>{me.data?.principal.displayName}</span>
            <span className="soft">
              {me.data?.tenant.name} · {live}
            </span>
          </p>
          <button type="button" onClick={() => void leave()}>
            Sign out
          </button>
        </div>
      </nav>
      {/* In the order of Tab: a page without a field or a link is scrolled by keys too. */}
      <main id="content" className={styles.main} tabIndex={0}>
        {me.isError ? <ErrorNote error={me.error} onRetry={() => void me.refetch()} /> : <Outlet />}
      </main>
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
  return (
    <main className="page">
      <h1>There is no such page</h1>
      <p>
        <Link to="/">Go to the work</Link>
      </p>
    </main>
  );
}
