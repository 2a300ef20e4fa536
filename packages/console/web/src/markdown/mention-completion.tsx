import { useQuery } from '@tanstack/react-query';
import {
  type KeyboardEvent,
  type RefObject,
  useDeferredValue,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { Principal } from '@baton/sdk';
import { baton } from '../client.ts';
import { meQuery } from '../queries.ts';
import styles from './markdown.module.css';
import { mentionOf, mentionQueryAt } from './mention-text.ts';

const foundMax = 6;

/** The people and agents whose names begin with the words after an `@`. */
export interface Mentions {
  readonly found: readonly Principal[];
  readonly isOpen: boolean;
  readonly chosen: number;
  readonly listId: string;
  /** Attributes and event handlers for the text field. */
  readonly field: {
    readonly 'aria-controls': string | undefined;
    readonly 'aria-activedescendant': string | undefined;
    onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>): void;
    onSelect(): void;
    onBlur(): void;
  };
  /** Searches for an `@` before the cursor. */
  look(): void;
  choose(principal: Principal): void;
}

type Query = NonNullable<ReturnType<typeof mentionQueryAt>>;

export function useMentions(
  area: RefObject<HTMLTextAreaElement | null>,
  value: string,
  onChange: (value: string) => void,
  maxLength: number,
): Mentions {
  const listId = useId();
  const [query, setQuery] = useState<Query>();
  const [chosen, setChosen] = useState(0);
  /** Where the cursor belongs once the field shows the completed text. */
  const cursor = useRef<number>(undefined);
  const found = useFound(query?.words);
  const isOpen = query !== undefined && found.length > 0;
  const active = Math.min(chosen, found.length - 1);
  useLayoutEffect(() => {
    if (cursor.current === undefined) return;
    area.current?.focus();
    area.current?.setSelectionRange(cursor.current, cursor.current);
    cursor.current = undefined;
  }, [area, value]);
  function look() {
    const { current } = area;
    const isCursor = current !== null && current.selectionStart === current.selectionEnd;
    const next = isCursor ? mentionQueryAt(current.value, current.selectionStart) : undefined;
    if (next?.words !== query?.words || next?.start !== query?.start) {
      setQuery(next);
      setChosen(0);
    }
  }
  function choose(principal: Principal) {
    if (query === undefined) return;
    const before = `${value.slice(0, query.start)}${mentionOf(principal)} `;
    const text = before + value.slice(query.start + 1 + query.words.length).replace(/^ /, '');
    setQuery(undefined);
    if (text.length > maxLength) return;
    cursor.current = before.length;
    onChange(text);
  }
  function onKeyDown(event: KeyboardEvent) {
    const principal = found[active];
    if (!isOpen || principal === undefined || event.nativeEvent.isComposing) return;
    if (event.key === 'ArrowDown') setChosen((active + 1) % found.length);
    else if (event.key === 'ArrowUp') setChosen((active + found.length - 1) % found.length);
    else if (event.key === 'Enter' || event.key === 'Tab') choose(principal);
    else if (event.key === 'Escape') setQuery(undefined);
    else return;
    event.preventDefault();
    // Escape would also close the dialog that contains the field.
    event.stopPropagation();
  }
  return {
    found,
    isOpen,
    chosen: active,
    listId,
    field: {
      'aria-controls': isOpen ? listId : undefined,
      'aria-activedescendant': isOpen ? `${listId}-${active}` : undefined,
      onKeyDown,
      onSelect: () => {
        // Moving the cursor closes the list; only typing opens it.
        if (query !== undefined) look();
      },
      onBlur: () => setQuery(undefined),
    },
    look,
    choose,
  };
}

/** Searches the list of principals, if the person may read it. */
function useFound(words: string | undefined): readonly Principal[] {
  const mayRead = useQuery(meQuery).data?.permissions.includes('principals.read') ?? false;
  const q = useDeferredValue(words?.trim());
  const { data } = useQuery({
    queryKey: ['principals', 'mention', q],
    queryFn: ({ signal }) =>
      baton.principals
        .list({ ...(q && { q }), limit: foundMax }, { signal })
        .then(({ items }) => items.filter(({ status }) => status !== 'disabled')),
    enabled: mayRead && q !== undefined,
    placeholderData: (before) => before,
  });
  return words === undefined || !mayRead ? [] : (data ?? []);
}

export function MentionChoice({ mentions }: { readonly mentions: Mentions }) {
  const { found, isOpen, chosen, listId, choose } = mentions;
  return (
    <>
      <p role="status" className="visually-hidden">
        {isOpen && `${found.length} found. Select with the arrow keys, and press Enter to mention.`}
      </p>
      {isOpen && (
        <ul id={listId} role="listbox" aria-label="Mention" className={styles.people}>
          {found.map((principal, index) => (
            <li
              key={principal.id}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseDown={(event) => {
                // The field keeps the focus.
                event.preventDefault();
                choose(principal);
              }}
            >
              {principal.displayName} <span className="soft">{principal.kind}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
