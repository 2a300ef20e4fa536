import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BatonError, type ExternalReference, type Run, revealHidden, type Task } from '@baton/sdk';
import { ArtifactItem } from '../../artifact/ArtifactItem.tsx';
import { Avatar } from '../../parts/Avatar.tsx';
import { costs, duration, short } from '../../parts/amounts.ts';
import { Moment } from '../../parts/Moment.tsx';
import { ErrorNote } from '../../parts/Notes.tsx';
import { Prose } from '../../parts/Prose.tsx';
import { Values } from '../../parts/Values.tsx';
import { Who } from '../../parts/Who.tsx';
import {
  commitOf,
  linksOf,
  type ResultLink,
  restOf,
  runMs,
  summaryOf,
  webAddress,
} from '../../run/result-facts.ts';
import { runsQuery } from '../runs.ts';
import styles from './result.module.css';
import {
  artifactsMax,
  artifactsQuery,
  currentArtifacts,
  referencesQuery,
  usageQuery,
} from './result-queries.ts';

/** The result of the task: summary, links, output and artifacts. Hidden while there is none. */
export function Result({ task }: { readonly task: Task }) {
  const runs = useQuery(runsQuery(task));
  const artifacts = useQuery(artifactsQuery({ taskId: task.id }));
  const references = useQuery(referencesQuery(task)).data?.filter(isForPeople) ?? [];
  const run = runs.data?.find(({ status }) => status === 'succeeded');
  const { current, earlier } = currentArtifacts(artifacts.data ?? []);
  // Without the permission to read artifacts, the other parts of the result are still shown.
  const error =
    artifacts.error instanceof BatonError && artifacts.error.status === 403 ? null : artifacts.error;
  if (run === undefined && current.length === 0 && references.length === 0)
    return error === null ? null : <ErrorNote error={error} />;
  const links = [...linksOf(run?.output ?? null), ...references.flatMap(linkOf)];
  return (
    <section className="card stack" aria-labelledby="result">
      <h2 id="result">Result</h2>
      {run !== undefined && <Delivery run={run} task={task} />}
      {links.length > 0 && <Links links={links} />}
      {references.some((one) => linkOf(one).length === 0) && <References references={references} />}
      {run !== undefined && <Output run={run} />}
      {error !== null && <ErrorNote error={error} />}
      {current.length > 0 && (
        <>
          <h3>Artifacts</h3>
          <ul className={styles.artifacts}>
            {current.map((artifact) => (
              <li key={artifact.id}>
                <ArtifactItem artifact={artifact} />
              </li>
            ))}
          </ul>
        </>
      )}
      {earlier.length > 0 && (
        <details>
          <summary className="soft">Earlier versions ({earlier.length})</summary>
          <ul className={styles.artifacts}>
            {earlier.map((artifact) => (
              <li key={artifact.id}>
                <ArtifactItem artifact={artifact} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {artifacts.data?.length === artifactsMax && (
        <p className="soft">Only the newest {artifactsMax} artifacts are shown.</p>
      )}
    </section>
  );
}

/** The summary of the result, with its author, attempt, duration, commit and cost. */
function Delivery({ run, task }: { readonly run: Run; readonly task: Task }) {
  const usage = useQuery(usageQuery(task)).data;
  const summary = summaryOf(run.output);
  const commit = commitOf(run.output);
  const cost = usage && costs(usage);
  const tokens = usage ? usage.inputTokens + usage.outputTokens : 0;
  return (
    <>
      {summary !== undefined && <Prose text={revealHidden(summary)} />}
      <p className={`row soft ${styles.facts}`}>
        <span className={styles.by}>
          <Avatar id={run.principalId} /> <Who id={run.principalId} />
        </span>
        <Link to="/runs/$id" params={{ id: run.id }}>
          Attempt {run.attempt}
        </Link>
        {run.finishedAt !== null && (
          <span>
            {duration(runMs(run, 0))}, <Moment at={run.finishedAt} />
          </span>
        )}
        {commit !== undefined && (
          <span>
            commit <span className="mono">{commit}</span>
          </span>
        )}
        {cost !== undefined && <span title="All attempts together">{cost}</span>}
        {tokens > 0 && (
          <span title={`${tokens.toLocaleString('en')} tokens in all attempts`}>{short(tokens)} tokens</span>
        )}
      </p>
    </>
  );
}

/** Links of a result, each with its host. They open in a new tab that has no access to this one. */
export function Links({ links }: { readonly links: readonly ResultLink[] }) {
  const unique = [...new Map(links.map((link) => [link.url, link])).values()];
  return (
    <ul className={styles.links} aria-label="Links">
      {unique.map(({ label, url }) => (
        <li key={url}>
          <a href={url} rel="noopener nofollow noreferrer" target="_blank" className={styles.link}>
            <strong>{revealHidden(label)}</strong> <span className="soft">{placeOf(url)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

const placeCharactersMax = 60;

/** The host and the end of the path, which usually identifies the pull request or the commit. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  const path = pathname === '/' ? '' : pathname;
  const shown = path.length > placeCharactersMax ? `/…${path.slice(-placeCharactersMax)}` : path;
  return revealHidden(host + shown);
}

/** The other members of the output. */
export function Output({ run }: { readonly run: Run }) {
  const rest = restOf(run.output ?? {});
  if (Object.keys(rest).length === 0) return null;
  return (
    <details className={styles.output}>
      <summary>Output</summary>
      <Values of={rest} isWhole />
    </details>
  );
}

/** Excludes the references that the service itself adds to the tasks of a process. */
const isForPeople = ({ externalSystem }: ExternalReference): boolean => externalSystem !== 'control-plane';

function linkOf({ externalType, metadata, externalId }: ExternalReference): ResultLink[] {
  const url = webAddress(metadata['url']) ?? webAddress(externalId);
  return url === undefined ? [] : [{ label: sentenceCase(externalType), url }];
}

function References({ references }: { readonly references: readonly ExternalReference[] }) {
  return (
    <ul className={styles.links} aria-label="External references">
      {references
        .filter((one) => linkOf(one).length === 0)
        .map(({ id, externalSystem, externalType, externalId }) => (
          <li key={id}>
            <span className="soft">{sentenceCase(externalType)}</span>{' '}
            <span className="mono">{revealHidden(externalId.slice(0, 200))}</span>{' '}
            <span className="soft">in {externalSystem}</span>
          </li>
        ))}
    </ul>
  );
}

const sentenceCase = (key: string): string =>
  key.charAt(0).toUpperCase() + key.slice(1, 100).replaceAll('_', ' ');
