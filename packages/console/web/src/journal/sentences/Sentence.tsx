import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { type JournalEvent, revealHidden } from '@baton/sdk';
import { costs, duration } from '../../parts/amounts.ts';
import { Moment } from '../../parts/Moment.tsx';
import { Who } from '../../parts/Who.tsx';
import { workspaceQuery } from '../../queries.ts';
import { commitOf, noteOf, runMs, summaryOf } from '../../run/result-facts.ts';
import { noteQuery, runQuery } from '../../run/run-queries.ts';
import { hasName, nameQuery } from './names.ts';
import styles from './sentence.module.css';
import type { Part } from './sentence.ts';
import { sentenceOf } from './sentences.ts';

/** Whether the names in a sentence are looked up. In a busy journal, only for lines that stay on the screen. */
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
  // Names of fields and statuses in it may come from outside.
  if (typeof part === 'string') return revealHidden(part);
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

/** The beginning of a text, on one line. */
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

/** The name of an object. Not a link, because the sentence is the summary of a line; the opened line has the links. */
function ObjectName({ type, id, name }: ObjectNameProps) {
  const isNamed = name !== undefined && type !== 'task';
  const mayLookUp = useContext(LooksUpNames) && !isNamed;
  const read = useQuery({ ...nameQuery(type, id), enabled: mayLookUp && hasName(type) }).data;
  const workspace = useQuery({ ...workspaceQuery(id), enabled: mayLookUp && type === 'workspace' }).data
    ?.name;
  const known = isNamed ? name : read || workspace || name;
  return (
    <span className={type === 'approval' ? styles.quote : styles.name}>
      {quoted(known ?? unknownName(type, id))}
    </span>
  );
}

/** The text for an object whose name can't be read. For other types, the sentence has the noun before the name. */
function unknownName(type: string, id: string): string {
  if (type === 'approval') return 'an approval';
  if (type === 'artifact') return 'an artifact';
  if (type === 'run') return 'an attempt';
  return type === 'task' ? `task ${id.slice(-8)}` : id.slice(-8);
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
  const { data } = useQuery({ ...noteQuery(runId, seq), enabled: useContext(LooksUpNames) });
  const checkpoint = data?.items.find((one) => one.seq === seq);
  const note = checkpoint && noteOf(checkpoint.data);
  if (note === undefined) return null;
  return (
    <>
      : <em className={styles.quote}>{quoted(note)}</em>
    </>
  );
}
