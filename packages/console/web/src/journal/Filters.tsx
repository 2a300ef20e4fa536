import { useQueries, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useEffect, useRef, useState } from 'react';
import type { JournalEvent } from '@baton/sdk';
import { ErrorNote } from '../parts/Notes.tsx';
import { meQuery, principalQuery, queries, taskQuery } from '../queries.ts';
import styles from './journal.module.css';
import { isId, type JournalSearch } from './journal-search.ts';

/** The maximum number of selectable actors; only the actors of the shown events can be selected. */
const actorsMax = 50;

interface FiltersProps {
  readonly search: JournalSearch;
  /** The shown events, whose actors can be selected. */
  readonly events: readonly JournalEvent[];
  onChange(search: JournalSearch): void;
}

/** Filters by type, object and actor. The URL holds all of them. */
export function Filters({ search, events, onChange }: FiltersProps) {
  const { types = '', object = '', actor = '' } = search;
  const [problem, setProblem] = useState<unknown>();
  const typesField = useField(types);
  const objectField = useField(object);
  const submissions = useRef(0);
  /** The current URL, because an actor may be selected while an id is being resolved. */
  const now = useRef(search);
  now.current = search;

  async function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const typesText = typesField.text.trim();
    submissions.current += 1;
    const submission = submissions.current;
    setProblem(undefined);
    try {
      const id = await idOf(objectField.text.trim());
      // A later submission takes precedence.
      if (submission !== submissions.current) return;
      typesField.report(typesText);
      objectField.report(id);
      onChange(
        withActor(
          { ...(typesText && { types: typesText }), ...(id && { object: id }) },
          now.current.actor ?? '',
        ),
      );
    } catch (error) {
      if (submission === submissions.current) setProblem(error);
    }
  }

  function showAll() {
    submissions.current += 1;
    onChange({});
  }

  return (
    <div className="stack">
      <form className={styles.filters} role="search" onSubmit={(event) => void onSubmit(event)}>
        <label className={styles.field}>
          <span>Event types (prefixes)</span>
          <input
            id="journal-types"
            name="types"
            type="search"
            value={typesField.text}
            onChange={({ target }) => typesField.setText(target.value)}
            placeholder="task., run.succeeded"
            maxLength={400}
            spellCheck={false}
            aria-keyshortcuts="/"
          />
        </label>
        <label className={styles.field}>
          <span>Object (task or ID)</span>
          <input
            name="object"
            type="search"
            value={objectField.text}
            onChange={({ target }) => objectField.setText(target.value)}
            placeholder="TASK-000012"
            maxLength={64}
            spellCheck={false}
          />
        </label>
        <Actors chosen={actor} events={events} onChoose={(next) => onChange(withActor(search, next))} />
        <button type="submit">Filter</button>
        {(types || object || actor) && (
          <button type="button" onClick={showAll}>
            Clear
          </button>
        )}
      </form>
      {problem !== undefined && <ErrorNote error={problem} />}
    </div>
  );
}

/** The text in a field whose value is in the URL. */
function useField(value: string) {
  const [text, setText] = useState(value);
  const reported = useRef(value);
  useEffect(() => {
    if (value === reported.current) return;
    // The value was changed elsewhere, for example by a link. A value that the field itself reported must not overwrite
    // newer input.
    reported.current = value;
    setText(value);
  }, [value]);
  return {
    text,
    setText,
    report: (next: string) => {
      reported.current = next;
    },
  };
}

/** @param actor empty for all actors */
function withActor({ actor: _before, ...search }: JournalSearch, actor: string): JournalSearch {
  return actor === '' ? search : { ...search, actor };
}

/** Resolves an object's id; accepts the public id of a task too. */
async function idOf(text: string): Promise<string> {
  return text === '' || isId(text) ? text : (await queries.query(taskQuery(text))).id;
}

function Actors({
  chosen,
  events,
  onChoose,
}: {
  chosen: string;
  events: readonly JournalEvent[];
  onChoose(id: string): void;
}) {
  const me = useQuery(meQuery).data?.principal.id;
  const ids = [...new Set([me, chosen, ...events.map(({ actorId }) => actorId)])]
    .filter((id) => typeof id === 'string' && id !== '')
    .slice(0, actorsMax) as string[];
  const names = useQueries({ queries: ids.map((id) => principalQuery(id)) });
  return (
    <label className={styles.field}>
      <span>Actor</span>
      <select value={chosen} onChange={({ target }) => onChoose(target.value)}>
        <option value="">Anyone</option>
        {ids.map((id, place) => (
          <option key={id} value={id}>
            {(names[place]?.data?.displayName ?? id).slice(0, 80)}
            {id === me && ' (you)'}
          </option>
        ))}
      </select>
    </label>
  );
}
