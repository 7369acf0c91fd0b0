"""The naive referee: one deal of Schmier, Four Point or a relative, written straight from RULES.md.

It is slow and obvious on purpose and shares nothing with the engine: it is the second opinion on the engine.
Cards are strings as in RULES.md ("TH", "XX"). Comments cite the clauses (S-.., F-.., O-..).
"""

from __future__ import annotations

from dataclasses import dataclass

RANKS = "23456789TJQKA"
SUITS = "CDHS"
JOKER = "XX"
OTHER_SUIT_OF_THE_COLOUR = {"C": "S", "S": "C", "D": "H", "H": "D"}
KINDS = ("high", "low", "jack", "left", "joker", "game")


@dataclass(frozen=True)
class Options:
    """The rules of a game; keywords as in the Options section of RULES.md, the defaults are Schmier's."""

    players: int = 6
    teams: int = 3
    suits: int = 4
    low_rank: int = 2
    jokers: int = 1
    left_bower: bool = True
    hand_cards: int = 6  # S-4, F-4, O-20
    trump_choice: str = "named"  # or "pitched": the first lead makes trump (F-12)
    min_bid: int = 3
    max_bid: int = 6
    all_pass: str = "redeal_same"
    max_bid_ends: bool = True
    widow: int = 0
    exchange_who: str = "non_dealers"
    exchange_discard: str = "up_to_3"
    protected: tuple[str, ...] = ("ace", "right", "left", "low", "joker")
    discards_score_for: str = "nobody"
    follow: str = "strict"
    high: str = "ace"
    low: str = "fixed"
    jack_point: int = 1
    left_point: int = 1
    joker_point: int = 1
    joker_card_points: int = 1
    target: int = 21
    finish: str = "any_team"
    defender_cap: str = "none"
    tie: str = "higher_then_bidder"
    residual_tie: str = "play_on"

    def __post_init__(self) -> None:
        """Refuse values that RULES.md does not know and combinations for which it says nothing."""
        known = {
            "trump_choice": ("named", "pitched"),
            "all_pass": ("redeal_same", "redeal_next", "stick_dealer"),
            "exchange_who": ("non_dealers", "bidder", "none"),
            "discards_score_for": ("owner", "nobody"),
            "follow": ("strict", "follow_or_trump"),
            "high": ("ace", "in_play"),
            "low": ("fixed", "in_play"),
            "finish": ("any_team", "bidder_only"),
            "defender_cap": ("none", "target", "target_minus_1"),
            "tie": ("higher_then_bidder", "bidder_first"),
            "residual_tie": ("play_on", "shared"),
            "suits": (1, 2, 3, 4),
            "low_rank": range(2, 14),
            "hand_cards": range(1, 7),
            "widow": (0, 1, 2, 3),
            "jokers": (0, 1),
            "jack_point": (0, 1),
            "left_point": (0, 1),
            "joker_point": (0, 1),
            "joker_card_points": (0, 1),
        }
        for keyword, values in known.items():
            if getattr(self, keyword) not in values:
                raise ValueError(f"{keyword}={getattr(self, keyword)!r} is not one of {values}")
        if not self.exchange_discard.startswith("up_to_") or not self.exchange_discard[len("up_to_") :].isdigit():
            raise ValueError(f"exchange_discard={self.exchange_discard!r} is not up_to_N")
        if not set(self.protected) <= {"ace", "right", "left", "low", "joker"}:
            raise ValueError(f"protected={self.protected!r} has an unknown name")
        if not 1 <= self.min_bid <= self.max_bid:
            raise ValueError("min_bid must be at least 1 and at most max_bid")
        if self.players < 2 or not 1 <= self.teams <= self.players:
            raise ValueError("impossible number of players or teams")
        stock = len(pack(self)) - self.hand_cards * self.players
        if stock < 0:
            raise ValueError("the pack is too small for so many players")
        if self.exchange_who == "bidder" and self.widow > stock:
            raise ValueError("the widow is larger than the stock")
        if self.exchange_who == "non_dealers" and _most_throws(self) * (self.players - 1) > stock:
            raise ValueError("the stock could run out in the exchange (S-37)")
        if self.trump_choice == "pitched" and (self.jokers or self.left_bower):
            raise ValueError("a pitched trump with a joker or a left bauer is not described by the rules")
        if self.left_bower and (self.suits < 4 or self.low_rank > 11):
            raise ValueError("without four suits and jacks there is no left bauer (O-12, O-19)")
        if self.jack_point and self.low_rank > 11:
            raise ValueError("without jacks there is no jack point (O-12)")
        if self.trump_choice == "pitched" and self.exchange_who == "non_dealers":
            raise ValueError("the exchange of S-14 needs a trump that has been named")


def _most_throws(options: Options) -> int:
    """The N of exchange_discard="up_to_N" (O-16)."""
    return int(options.exchange_discard[len("up_to_") :])


def pack(options: Options) -> list[str]:
    """All card names of the game (S-2, F-2, O-12, O-13)."""
    cards = [rank + suit for suit in SUITS[: options.suits] for rank in RANKS if _is_in_pack(rank, options)]
    if options.jokers == 1:
        cards.append(JOKER)
    return cards


def _is_in_pack(rank: str, options: Options) -> bool:
    """O-12: 2 to 10 by their number, 11 the jack, 12 the queen, 13 the king, and the ace always."""
    number = {"T": 10, "J": 11, "Q": 12, "K": 13, "A": 14}.get(rank) or int(rank)
    return number >= options.low_rank


SCHMIER = Options()
FOUR_POINT = Options(
    players=4,
    teams=2,
    low_rank=7,
    jokers=0,
    left_bower=False,
    trump_choice="pitched",
    min_bid=2,
    max_bid=4,
    widow=2,
    exchange_who="bidder",
    protected=(),
    discards_score_for="owner",
    follow="follow_or_trump",
    left_point=0,
    joker_point=0,
    joker_card_points=0,
    target=15,
)


class Deal:
    """One dealing-out of the cards, played to its score or thrown in.

    Ask `actor` and `legal()`, answer with `play(action)`, until `phase` is "over".

    Readable at any time: phase, actor, hands, stock, trump, trump_public, bidder, bid, discards, kept (the cards
    that stay, during "keep"), leader and trick (the trick on the table), tricks (the complete ones: leader, cards
    in order played, winner), scores.
    When over: result, points_by_kind, card_points, points, delta, made, winners, next_dealer.
    """

    def __init__(self, options: Options, deck: list[str], dealer: int, scores: list[int]) -> None:
        """Deal `deck` (all cards in the order dealt); ValueError if it is not a permutation of the pack."""
        if sorted(deck) != sorted(pack(options)):
            raise ValueError("the deck is not a permutation of the pack")
        if not 0 <= dealer < options.players:
            raise ValueError("no such dealer")
        if len(scores) != options.teams:
            raise ValueError("one score for each team is needed")
        self.options = options
        self.dealer = dealer
        self.scores: list[int] = list(scores)

        # S-4, F-4: six cards to the player left of the dealer, the next six to the second, ..., the dealer last.
        self.hands: list[set[str]] = [set() for _ in range(options.players)]
        undealt = list(deck)
        for seat in self._from_the_left_of_the_dealer():
            self.hands[seat] = set(undealt[: options.hand_cards])
            undealt = undealt[options.hand_cards :]
        self.stock: list[str] = undealt

        self.bidder: int | None = None
        self.bid: int = 0
        self.trump: str | None = None
        self.trump_public: bool = False
        self.discards: list[set[str]] = [set() for _ in range(options.players)]
        self.kept: set[str] = set()
        self.leader: int | None = None
        self.trick: list[str] = []
        self.tricks: list[tuple[int, list[str], int]] = []

        self.result: str | None = None
        self.points_by_kind: dict[str, int | None] = dict.fromkeys(KINDS)
        self.card_points: list[int] = [0] * options.teams
        self.points: list[int] = [0] * options.teams
        self.delta: list[int] = [0] * options.teams
        self.made: bool | None = None
        self.winners: set[int] = set()
        self.next_dealer: int | None = None

        self._trump_order: list[str] = []  # from the highest trump down; empty while there is no trump
        self._thrown = 0  # by the actor in his turn of the exchange
        self._eligible: set[str] = set()  # what the actor may pick from in "keep"

        self.phase: str = "bid"
        self.actor: int | None = self._left_of(dealer)  # S-9

    # ------------------------------------------------------------------ the two questions

    def legal(self) -> set[str]:
        """The texts of the actor's legal actions; empty when the deal is over."""
        if self.phase == "bid":
            return self._legal_bids()
        if self.phase == "trump":
            return self._legal_trumps()
        if self.phase == "exchange":
            return self._throwable(self.actor) | {"done"}
        if self.phase == "keep":
            return self._eligible - self.kept
        if self.phase == "play":
            return self._legal_cards()
        return set()

    def play(self, action: str) -> None:
        """Carry out the actor's action and go on to the next decision; ValueError if it is not legal."""
        if action not in self.legal():
            raise ValueError(f"{action!r} is not legal for seat {self.actor} in phase {self.phase!r}")
        if self.phase == "bid":
            self._do_bid(action)
        elif self.phase == "trump":
            self._do_trump(action[len("trump ") :])
        elif self.phase == "exchange":
            self._do_throw(action)
        elif self.phase == "keep":
            self._do_keep(action)
        else:
            self._do_card(action)

    # ------------------------------------------------------------------ seats and teams

    def _left_of(self, seat: int) -> int:
        return (seat + 1) % self.options.players

    def _from_the_left_of_the_dealer(self) -> list[int]:
        """All seats in turn, the dealer last."""
        seats = []
        seat = self.dealer
        for _ in range(self.options.players):
            seat = self._left_of(seat)
            seats.append(seat)
        return seats

    def _team(self, seat: int) -> int:
        return seat % self.options.teams  # S-1, F-1, O-1

    # ------------------------------------------------------------------ suits and ranks

    def _order_of_trumps(self, trump: str) -> list[str]:
        """All trumps from the highest down: S-5 and S-7, F-2, O-12, O-13, O-14."""
        order = []
        for rank in "AKQJT98765432":
            card = rank + trump
            if _is_in_pack(rank, self.options):
                order.append(card)
            if rank == "J" and self.options.left_bower:
                order.append(self._left_bauer(trump))
        if self.options.jokers == 1:
            order.append(JOKER)
        return order

    def _left_bauer(self, trump: str) -> str:
        return "J" + OTHER_SUIT_OF_THE_COLOUR[trump]

    def _is_trump(self, card: str) -> bool:
        return card in self._trump_order

    def _suit(self, card: str) -> str | None:
        """The suit that the card belongs to: S-6, S-7."""
        if self._is_trump(card):
            return self.trump
        return card[1]

    def _low_card(self) -> str:
        """The fixed low card: the two of trumps, the seven of trumps, O-12."""
        ranks = [rank for rank in RANKS if _is_in_pack(rank, self.options)]
        return ranks[0] + self.trump

    # ------------------------------------------------------------------ auction: S-9 to S-12, F-5, F-6, O-3, O-4

    def _legal_bids(self) -> set[str]:
        # S-9: pass, or a bid higher than the one that stands. After max_bid only pass is left (O-3).
        actions = {"pass"}
        for number in range(self.options.min_bid, self.options.max_bid + 1):
            if number > self.bid:
                actions.add(f"bid {number}")
        # O-4: the stuck dealer.
        if self.options.all_pass == "stick_dealer" and self.actor == self.dealer and self.bidder is None:
            actions.remove("pass")
        return actions

    def _do_bid(self, action: str) -> None:
        if action != "pass":
            self.bid = int(action[len("bid ") :])
            self.bidder = self.actor
        # S-10: the auction ends after the dealer's turn, or at once on the highest bid (unless O-3 says otherwise).
        at_once = self.bid == self.options.max_bid and self.options.max_bid_ends
        if self.actor != self.dealer and not at_once:
            self.actor = self._left_of(self.actor)
        elif self.bidder is None:
            self._throw_in()
        else:
            self._after_the_auction()

    def _throw_in(self) -> None:
        # S-12, F-6, O-4: nobody scores; who deals next.
        self.result = "thrown_in"
        self.next_dealer = self._left_of(self.dealer) if self.options.all_pass == "redeal_next" else self.dealer
        self.phase = "over"
        self.actor = None

    # ------------------------------------------------------------------ trump: S-13, F-7, F-8

    def _after_the_auction(self) -> None:
        options = self.options
        takes_widow = options.exchange_who == "bidder" and options.widow > 0
        if takes_widow:
            # F-7: the top cards of the stock, before he names trump or commits himself.
            self.hands[self.bidder] |= set(self.stock[: options.widow])
            self.stock = self.stock[options.widow :]
        if options.trump_choice == "pitched" and not takes_widow:
            self._start_play()  # F-8: with no widow there is no commitment
            return
        self.phase = "trump"
        self.actor = self.bidder
        if options.trump_choice == "pitched":
            possible = self._legal_trumps()
            if len(possible) == 1:  # not asked
                self._do_trump(possible.pop()[len("trump ") :])

    def _legal_trumps(self) -> set[str]:
        if self.options.trump_choice == "named":
            # S-13: also a suit he does not hold; O-19: of those in the pack
            return {f"trump {suit}" for suit in SUITS[: self.options.suits]}
        return {f"trump {card[1]}" for card in self.hands[self.bidder]}  # F-8: at least one card of it

    def _do_trump(self, suit: str) -> None:
        self._fix_trump(suit)
        self.trump_public = self.options.trump_choice == "named"  # S-13 for all to hear, F-8 without telling anybody
        if self.options.exchange_who == "non_dealers":
            self._next_to_throw(self._left_of(self.dealer))  # S-14
        elif self.options.exchange_who == "bidder":
            self._back_to_six(self.bidder)  # F-9
        else:
            self._start_play()

    def _fix_trump(self, suit: str) -> None:
        self.trump = suit
        self._trump_order = self._order_of_trumps(suit)

    # ------------------------------------------------------------------ exchange: S-14 to S-17

    def _throwable(self, seat: int) -> set[str]:
        return {card for card in self.hands[seat] if not self._is_trump(card)}  # S-15

    def _next_to_throw(self, seat: int) -> None:
        """Give the turn to `seat` or, where there is nothing to decide, to the next after him; then the dealer."""
        while seat != self.dealer:
            if self._throwable(seat) and _most_throws(self.options) > 0:
                self.phase = "exchange"
                self.actor = seat
                self._thrown = 0
                return
            seat = self._left_of(seat)  # S-15: passed over
        # S-17: the dealer takes all that is left.
        self.hands[self.dealer] |= set(self.stock)
        self.stock = []
        self._back_to_six(self.dealer)

    def _do_throw(self, action: str) -> None:
        seat = self.actor
        if action != "done":
            self.hands[seat].remove(action)
            self.discards[seat].add(action)
            self._thrown += 1
            # S-15: the throw ends by itself at three cards, or when nothing is left that may be thrown.
            if self._thrown < _most_throws(self.options) and self._throwable(seat):
                return
        # S-14: as many from the top of the stock, only after the last throw.
        self.hands[seat] |= set(self.stock[: self._thrown])
        self.stock = self.stock[self._thrown :]
        self._next_to_throw(self._left_of(seat))

    # ------------------------------------------------------------------ back to six: S-17 to S-19, F-9 to F-11

    def _protected_cards(self) -> set[str]:
        """The trumps that S-18 forbids to discard (O-16)."""
        cards = set()
        if "ace" in self.options.protected:
            cards.add("A" + self.trump)
        if "right" in self.options.protected and _is_in_pack("J", self.options):
            cards.add("J" + self.trump)
        if "left" in self.options.protected and self.options.left_bower:
            cards.add(self._left_bauer(self.trump))
        if "low" in self.options.protected:
            cards.add(self._low_card())
        if "joker" in self.options.protected:
            cards.add(JOKER)
        return cards

    def _back_to_six(self, seat: int) -> None:
        hand = self.hands[seat]
        trumps = {card for card in hand if self._is_trump(card)}
        if len(trumps) <= self.options.hand_cards:
            # S-17, F-9: he keeps all trumps and chooses the other cards.
            self.kept = set(trumps)
            self._eligible = hand - trumps
        else:
            # S-18, F-10: all other cards go, and trumps beyond six, but never a protected one.
            self.kept = trumps & self._protected_cards()
            self._eligible = trumps - self.kept
        self.phase = "keep"
        self.actor = seat
        self._end_keep_if_nothing_to_choose()

    def _do_keep(self, card: str) -> None:
        self.kept.add(card)
        self._end_keep_if_nothing_to_choose()

    def _end_keep_if_nothing_to_choose(self) -> None:
        seat = self.actor
        left = self._eligible - self.kept
        wanted = self.options.hand_cards - len(self.kept)
        if wanted == len(left):  # S-19, F-11: only one possibility
            self.kept |= left
            wanted = 0
        if wanted > 0:
            return
        self.discards[seat] |= self.hands[seat] - self.kept
        self.hands[seat] = self.kept
        self.kept = set()
        self._eligible = set()
        self._start_play()

    # ------------------------------------------------------------------ play: S-20 to S-23, F-12 to F-17

    def _start_play(self) -> None:
        self.phase = "play"
        self.leader = self.bidder  # S-20, F-12
        self.actor = self.bidder

    def _legal_cards(self) -> set[str]:
        hand = self.hands[self.actor]
        if not self.trick:
            if self.trump is not None and not self.trump_public:
                # F-12: the first lead, bound to the suit of the commitment.
                return {card for card in hand if self._is_trump(card)}
            return set(hand)
        led = self._suit(self.trick[0])
        following = {card for card in hand if self._suit(card) == led}
        if not following:
            return set(hand)  # S-22, F-16
        if led == self.trump or self.options.follow == "strict":
            return following  # S-21, F-15
        return following | {card for card in hand if self._is_trump(card)}  # F-14

    def _do_card(self, card: str) -> None:
        if not self.trump_public:
            # F-12: the suit of the first lead is trump, known to all from then on.
            self._fix_trump(card[1])
            self.trump_public = True
        self.hands[self.actor].remove(card)
        self.trick.append(card)
        if len(self.trick) < self.options.players:
            self.actor = self._left_of(self.actor)
            return
        winner = (self.leader + self.trick.index(self._winning_card(self.trick))) % self.options.players
        self.tricks.append((self.leader, self.trick, winner))
        self.trick = []
        self.leader = winner  # S-20, F-13
        self.actor = winner
        if len(self.tricks) == self.options.hand_cards:
            self.leader = None
            self._score()

    def _winning_card(self, cards: list[str]) -> str:
        # S-23, F-17: the highest trump; without a trump, the highest card of the suit led.
        trumps = [card for card in cards if self._is_trump(card)]
        if trumps:
            return self._highest_trump(trumps)
        of_the_suit_led = [card for card in cards if card[1] == cards[0][1]]
        return max(of_the_suit_led, key=lambda card: RANKS.index(card[0]))  # S-8, F-2

    def _highest_trump(self, trumps: list[str]) -> str:
        return min(trumps, key=self._trump_order.index)

    def _lowest_trump(self, trumps: list[str]) -> str:
        return max(trumps, key=self._trump_order.index)

    # ------------------------------------------------------------------ points: S-24 to S-28, F-18 to F-21

    def _worth(self, card: str) -> int:
        """What the card counts for game (S-28)."""
        if card == JOKER:
            return self.options.joker_card_points
        return {"T": 10, "A": 4, "K": 3, "Q": 2, "J": 1}.get(card[0], 0)

    def _find_points(self) -> None:
        options = self.options
        played_by: dict[str, int] = {}  # card -> the team of its player
        won_by: dict[str, int] = {}  # card -> the team that won its trick
        for leader, cards, winner in self.tricks:
            for place, card in enumerate(cards):
                played_by[card] = self._team((leader + place) % options.players)
                won_by[card] = self._team(winner)

        # O-5, O-6: a joker never counts as highest or lowest.
        trumps_played = [card for card in played_by if self._is_trump(card) and card != JOKER]
        found = self.points_by_kind

        if options.high == "ace":
            found["high"] = played_by.get("A" + self.trump)  # S-24, F-18
        elif trumps_played:
            found["high"] = played_by[self._highest_trump(trumps_played)]  # O-5

        if options.low == "fixed":
            found["low"] = played_by.get(self._low_card())  # S-25, F-19
        elif trumps_played:
            found["low"] = played_by[self._lowest_trump(trumps_played)]  # O-6

        if options.jack_point == 1:
            found["jack"] = won_by.get("J" + self.trump)  # S-26, F-20
        if options.left_point == 1 and options.left_bower:
            found["left"] = won_by.get(self._left_bauer(self.trump))  # S-26
        if options.joker_point == 1:
            found["joker"] = won_by.get(JOKER)  # S-27

        # S-28, F-21: game.
        for card, team in won_by.items():
            self.card_points[team] += self._worth(card)
        if options.exchange_who == "bidder" and options.discards_score_for == "owner":
            for card in self.discards[self.bidder]:  # F-11, O-17
                self.card_points[self._team(self.bidder)] += self._worth(card)
        most = max(self.card_points)
        teams_with_most = [team for team in range(options.teams) if self.card_points[team] == most]
        if len(teams_with_most) == 1:
            found["game"] = teams_with_most[0]

        for team_or_none in found.values():
            if team_or_none is not None:
                self.points[team_or_none] += 1

    # ------------------------------------------------------------------ score: S-29 to S-32, O-8

    def _score(self) -> None:
        self._find_points()
        bidding_team = self._team(self.bidder)
        self.made = self.points[bidding_team] >= self.bid
        for team in range(self.options.teams):
            before = self.scores[team]
            if team != bidding_team:
                after = self._capped(before, before + self.points[team])  # S-31, O-8
            elif self.made:
                after = before + self.points[team]  # S-29
            else:
                after = before - self.bid  # S-30
            self.delta[team] = after - before
            self.scores[team] = after
        self.result = "scored"
        self.winners = self._find_winners()
        self.next_dealer = self._left_of(self.dealer)  # S-32
        self.phase = "over"
        self.actor = None

    def _capped(self, before: int, after: int) -> int:
        """The score of a team that is not the bidder's, under defender_cap (O-8)."""
        if self.options.defender_cap == "none":
            return after
        cap = self.options.target
        if self.options.defender_cap == "target_minus_1":
            cap = self.options.target - 1
        if after <= cap:
            return after
        return max(before, cap)  # the cap never lowers a score that a team already had

    # ------------------------------------------------------------------ end of the game: S-33 to S-35, O-7, O-9, O-10

    def _find_winners(self) -> set[int]:
        options = self.options
        bidding_team = self._team(self.bidder)
        bidder_is_there = self.scores[bidding_team] >= options.target
        if options.finish == "bidder_only":  # O-7
            return {bidding_team} if self.made and bidder_is_there else set()
        if options.tie == "bidder_first" and bidder_is_there:  # O-9
            return {bidding_team}
        most = max(self.scores)
        if most < options.target:
            return set()
        top = {team for team in range(options.teams) if self.scores[team] == most}
        if len(top) == 1:
            return top  # S-33, F-23
        if bidding_team in top:
            return {bidding_team}  # S-34, F-23
        return top if options.residual_tie == "shared" else set()  # S-35, O-10
