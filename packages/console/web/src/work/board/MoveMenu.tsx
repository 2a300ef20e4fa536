import { Menu } from '@base-ui/react/menu';
import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import styles from '../work.module.css';
import { transitionsQuery } from './moves.ts';
import type { Destination } from './use-board-moves.tsx';

interface MoveMenuProps {
  readonly task: Task;
  readonly anchor: HTMLElement;
  onMove(to: Destination): void;
  onClose(): void;
}

/** The menu with the transitions of a card, for pointer and keyboard. */
export default function MoveMenu({ task, anchor, onMove, onClose }: MoveMenuProps) {
  const { data, isError } = useQuery(transitionsQuery(task));
  return (
    <Menu.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      {/* Inside the page's content for screen readers, and not clipped by its column. */}
      <Menu.Portal container={document.getElementById('content')}>
        <Menu.Positioner
          anchor={anchor}
          align="end"
          sideOffset={4}
          positionMethod="fixed"
          className={styles.menuPlace}
        >
          <Menu.Popup className={`card ${styles.menu}`} finalFocus={{ current: anchor }}>
            <Menu.Group>
              <Menu.GroupLabel className={`soft ${styles.menuLabel}`}>
                Move {task.publicId} to
              </Menu.GroupLabel>
              {data?.targets.map((target) => (
                <Menu.Item
                  key={target.status}
                  className={styles.menuItem}
                  onClick={() => {
                    onClose();
                    onMove(target);
                  }}
                >
                  {target.displayName}
                </Menu.Item>
              ))}
              {data?.targets.length === 0 && (
                <Menu.Item disabled className={styles.menuItem}>
                  No transitions
                </Menu.Item>
              )}
              {data === undefined && (
                <Menu.Item disabled className={styles.menuItem}>
                  {isError ? 'Transitions unavailable' : '…'}
                </Menu.Item>
              )}
            </Menu.Group>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
