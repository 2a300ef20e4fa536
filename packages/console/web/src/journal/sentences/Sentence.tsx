import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { createContext, type ReactNode, useContext } from 'react';
import { type JournalEvent, revealHidden } from '@baton/sdk';
import { costs, duration } from '../../parts/amounts.ts';
import { Moment } from '../../parts/Moment.tsx';
import { Who } from '../../parts/Who.tsx';
import { workspaceQuery } from '../../queries.ts';
import { commitOf, noteOf, runMs, summaryOf } from '../../run/result-facts.ts';
import { checkpointsQuery, runQuery } from '../../run/run-queries.ts';
import { hasName, nameQuery } from './names.ts';
import styles from './sentence.module.css';
import type { Part } from './sentence.ts';
import { sentenceOf } from './sentences.ts';

/** Whether the names in a sentence are looked up. A busy journal does so only for lines that stay on the screen. */
export const LooksUpNames = createContext(true);

const quoteCharactersMax = 240;

/** An event as a sentence, with the names of people and objects. */
export function SentenceText({ event, within }: { readonly event: JournalEvent; readonly within?: string }) {
  return (
    <span className={styles.sentence}>
      {sentenceOf(event, within).map((part, place) => (
        // The parts of an event never change their order.
        <Piece key={`${place}`} part={part} />
      ))}
    </span>
  );
}

function Piece({ part }: { readonly part: Part }): ReactNode {
  if (typeof part === 'string') return part;
  switch (part.is) {
    case 'person':
      return <strong className={styles.who}>{part.id === null ? 'Baton' : <Who id={part.id} />}</strong>;
    case 'object':
      return <ObjectName {...part} />;
    case 'quote':
      return <em className={styles.quote}>{quoted(part.text)}</em>;
    case 'code':
      return <span className={styles.code}>{revealHidden(part.text)}</span>;
    case 'time':
      return <Moment at={part.at} />;
    case 'result':
      return <Result runId={part.runId} />;
    case 'note':
      return <Note {...part} />;
  }
}

/** The beginning of a text, in one line. */
const quoted = (text: string): string => {
  const line = revealHidden(text.slice(0, 4 * quoteCharactersMax))
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line.length > quoteCharactersMax ? `${line.slice(0, quoteCharactersMax)} …` : line;
};

interface ObjectNameProps {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
}

/** The name of an object, as a link to its page if it has one. */
function ObjectName({ type, id, name }: ObjectNameProps) {
  if (type === 'task') return <TaskName id={id} name={name} />;
  if (type === 'run')
    return (
      <Link to="/runs/$id" params={{ id }} className={styles.object}>
        {name ?? 'an attempt'}
      </Link>
    );
  if (type === 'workspace') return <WorkspaceName id={id} name={name} />;
  if (name === undefined && hasName(type)) return <ReadName type={type} id={id} />;
  return <Named type={type} id={id} name={name ?? id.slice(-8)} />;
}

function TaskName({ id, name }: { readonly id: string; readonly name: string | undefined }) {
  const { data } = useQuery({ ...nameQuery('task', id), enabled: useContext(LooksUpNames) });
  return (
    <Link to="/tasks/$ref" params={{ ref: id }} className={styles.object}>
      {quoted(data ?? name ?? `task ${id.slice(-8)}`)}
    </Link>
  );
}

function WorkspaceName({ id, name }: { readonly id: string; readonly name: string | undefined }) {
  const { data } = useQuery({
    ...workspaceQuery(id),
    enabled: useContext(LooksUpNames) && name === undefined,
  });
  return (
    <Link to="/" search={{ workspace: id }} className={styles.object}>
      {quoted(name ?? data?.name ?? `workspace ${id.slice(-8)}`)}
    </Link>
  );
}

function ReadName({ type, id }: { readonly type: string; readonly id: string }) {
  const { data } = useQuery({ ...nameQuery(type, id), enabled: useContext(LooksUpNames) });
  // Other nouns precede the name in their sentences.
  const otherwise = type === 'approval' ? 'an approval' : type === 'artifact' ? 'an artifact' : id.slice(-8);
  return <Named type={type} id={id} name={data || otherwise} />;
}

function Named({ type, id, name }: { readonly type: string; readonly id: string; readonly name: string }) {
  const text = quoted(name);
  if (type === 'project')
    return (
      <Link to="/projects/$id" params={{ id }} className={styles.object}>
        {text}
      </Link>
    );
  if (type === 'approval')
    return (
      <Link to="/approvals/$id" params={{ id }} className={`${styles.object} ${styles.quote}`}>
        {text}
      </Link>
    );
  if (type === 'process_instance')
    return (
      <Link to="/processes/$id" params={{ id }} className={styles.object}>
        {text}
      </Link>
    );
  return <span className={styles.name}>{text}</span>;
}

/** The result of a run: `: fixed the race, commit 3f2a91c, 12 min, $0.42`. */
function Result({ runId }: { readonly runId: string }) {
  const { data: run } = useQuery({ ...runQuery(runId), enabled: useContext(LooksUpNames) });
  if (run === undefined) return null;
  const summary = summaryOf(run.output);
  const commit = commitOf(run.output);
  const cost = costs(run.usage);
  return (
    <>
      {summary !== undefined && (
        <>
          : <em className={styles.quote}>{quoted(summary).replace(/[.\s]+$/, '')}</em>
        </>
      )}
      {commit !== undefined && (
        <>
          , commit <span className={styles.code}>{commit}</span>
        </>
      )}
      {run.finishedAt !== null && `, ${duration(runMs(run, 0))}`}
      {cost !== undefined && `, ${cost}`}
    </>
  );
}

/** What the agent noted at a checkpoint. */
function Note({ runId, seq }: { readonly runId: string; readonly seq: number }) {
  const { data } = useQuery({ ...checkpointsQuery(runId), enabled: useContext(LooksUpNames) });
  const checkpoint = data?.items.find((one) => one.seq === seq);
  const note = checkpoint && noteOf(checkpoint.data);
  if (note === undefined) return null;
  return (
    <>
      : <em className={styles.quote}>{quoted(note)}</em>
    </>
  );
}
