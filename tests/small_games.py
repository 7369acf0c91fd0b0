"""Games small enough to go through whole, one of each kind of chance."""

from smear_env import make_rules

ONE_SUIT = make_rules("mini_2p", suits=1)
EXCHANGE = make_rules(
    "schmier", players=2, teams=2, suits=2, low_rank=13, left_bower=False, jack_point=0, left_point=0, deal_cards=1,
    hand_cards=1, max_bid=2, min_bid=1, exchange_discard="up_to_1", protected=("ace",),
)  # fmt: skip
WIDOW = make_rules(
    "four_point", players=2, suits=2, low_rank=12, jack_point=0, max_bid=2, deal_cards=1, hand_cards=1, widow=1
)
